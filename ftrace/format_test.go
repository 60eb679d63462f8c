package ftrace

import (
	"errors"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseFormatReadsEveryKindOfField(t *testing.T) {
	const text = "name: all_kinds\nID: 7\nformat:\n" +
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n" +
		"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:1;\n" +
		"\tfield:const char * name;\toffset:24;\tsize:8;\tsigned:0;\n" +
		"\tfield:__data_loc char[] text;\toffset:32;\tsize:4;\tsigned:0;\n" +
		"\tfield:__rel_loc u64[] words;\toffset:36;\tsize:4;\tsigned:0;\n" +
		"\tfield:__data_loc cpumask_t mask;\toffset:40;\tsize:4;\tsigned:0;\n" +
		"\tfield:__data_loc char[][2] list;\toffset:44;\tsize:8;\tsigned:1;\n" +
		"\tfield:long tv[3];\toffset:56;\tsize:24;\tsigned:1;\n" +
		"\tfield:unsigned long rest[];\toffset:80;\tsize:0;\tsigned:0;\n" +
		"\nprint fmt: \"first\nsecond\", REC->comm\n"
	want := &Format{Name: "all_kinds", ID: 7, PrintFmt: "\"first\nsecond\", REC->comm", Fields: []Field{
		{Name: "common_type", Type: "unsigned short", Size: 2, ElemSize: 2, Common: true},
		{Name: "comm", Type: "char", Offset: 8, Size: 16, Signed: true, Array: true, Length: 16, ElemSize: 1, String: true},
		{Name: "name", Type: "const char *", Offset: 24, Size: 8, ElemSize: 8},
		{Name: "text", Type: "char", Offset: 32, Size: 4, Location: DataLoc, Array: true, ElemSize: 1, String: true},
		{Name: "words", Type: "u64", Offset: 36, Size: 4, Location: RelLoc, Array: true, ElemSize: 8},
		{Name: "mask", Type: "cpumask_t", Offset: 40, Size: 4, Location: DataLoc, ElemSize: 4},
		{Name: "list", Type: "char", Offset: 44, Size: 8, Signed: true, Location: DataLoc, Array: true, Length: 2, ElemSize: 1, String: true},
		{Name: "tv", Type: "long", Offset: 56, Size: 24, Signed: true, Array: true, Length: 3, ElemSize: 8},
		{Name: "rest", Type: "unsigned long", Offset: 80, Array: true, ElemSize: 8},
	}}
	got, err := ParseFormat([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseFormatSaysWhichLineIsWrong(t *testing.T) {
	for _, test := range []struct {
		name, text string
		line       int
	}{
		{"nothing", "", 0},
		{"a name and no fields", "name: x\nID: 1\n", 0},
		{"no name", "\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n", 0},
		{"an ID that is no number", "name: x\nID: one\n", 2},
		{"a field without a size", "name: x\n\tfield:int a;\toffset:0;\n", 2},
		{"an offset that is no number", "name: x\n\tfield:int a;\toffset:zero;\tsize:4;\n", 2},
		{"a field before the record", "name: x\n\tfield:int a;\toffset:-4;\tsize:4;\n", 2},
		{"a field behind any record", "name: x\n\n\tfield:int a;\toffset:65535;\tsize:4;\n", 3},
		{"a field without a name", "name: x\n\tfield:;\toffset:0;\tsize:4;\n", 2},
		{"a word of 8 bytes that says where one string is", "name: x\n\tfield:__data_loc char[] a;\toffset:0;\tsize:8;\n", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			f, err := ParseFormat([]byte(test.text))
			var wrong *FormatError
			if f != nil || !errors.As(err, &wrong) || wrong.Line != test.line {
				t.Errorf("ParseFormat = %v, %v; want an error in line %d", f, err, test.line)
			}
		})
	}
}

func TestFormatRefusesNamesThatLeaveTheEventsDirectory(t *testing.T) {
	if _, err := At(t.TempDir()).Format("..", "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Format(.., x) = %v; want not exist", err)
	}
}

func TestLiveUprobeFormatIsThatOfAProbeWithoutArguments(t *testing.T) {
	tracefs := liveTracefs(t)
	group, err := tracefs.NewGroup("uprobe_events")
	if err != nil {
		t.Fatal(err)
	}
	defer group.Close()
	for _, test := range []struct {
		kind byte
		ret  bool
	}{{'p', false}, {'r', true}} {
		name := string(test.kind) + "_bare"
		if _, err := group.Define(Dynamic{Type: test.kind, Event: name, Place: "/bin/true:0x40"}); err != nil {
			t.Fatal(err)
		}
		want, err := tracefs.Format(group.Name(), name)
		if err != nil {
			t.Fatal(err)
		}
		want.ID = 0
		if diff := cmp.Diff(want, UprobeFormat(group.Name(), name, test.ret)); diff != "" {
			t.Errorf("%c: %s", test.kind, diff)
		}
	}
}
