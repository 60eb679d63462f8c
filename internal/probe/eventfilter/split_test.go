package eventfilter

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
)

// openat is the format of a record of openat(2) that has its text, as Linux 6.19 does.
func openat() *ftrace.Format {
	field := func(name, typ string, offset, size int, signed bool) ftrace.Field {
		return ftrace.Field{Name: name, Type: typ, Offset: offset, Size: size, ElemSize: size, Signed: signed}
	}
	return &ftrace.Format{System: "syscalls", Name: "sys_enter_openat", Fields: []ftrace.Field{
		field("common_pid", "int", 4, 4, true), field("dfd", "int", 16, 8, false),
		field("filename", "const char *", 24, 8, false), field("flags", "int", 32, 8, false),
		field("buf", "char *", 40, 8, false),
		{Name: "__filename_val", Type: "char", Offset: 48, Size: 4, Location: ftrace.DataLoc, Array: true, ElemSize: 1, String: true},
		{Name: "__argv_val", Type: "char", Offset: 52, Size: 4, Location: ftrace.DataLoc, Array: true, ElemSize: 1},
	}}
}

func split(t *testing.T, filter string) (*Filter, error) {
	t.Helper()
	f := openat()
	return Split(filter, f, map[string]Text{
		"filename": {Field: f.Field("__filename_val"), Pointer: f.Field("filename")},
		"argv":     {Field: f.Field("__argv_val"), Pointer: f.Field("filename"), Vector: true},
		"unread":   {},
	})
}

// record is of openat(3, name, flags) by process 7; a name of "" could not be read.
func record(name string, flags uint64) []byte {
	raw := make([]byte, 56)
	binary.LittleEndian.PutUint32(raw[4:], 7)
	binary.LittleEndian.PutUint64(raw[16:], 3)
	binary.LittleEndian.PutUint64(raw[24:], 0x1000)
	binary.LittleEndian.PutUint64(raw[32:], flags)
	if name != "" {
		text := name + "\x00"
		where := uint32(len(raw)) | uint32(len(text))<<16
		binary.LittleEndian.PutUint32(raw[48:], where)
		binary.LittleEndian.PutUint32(raw[52:], where)
		raw = append(raw, text...)
	}
	return raw
}

func TestAFilterIsSplitInWhatTheKernelCanCompare(t *testing.T) {
	for _, test := range []struct{ filter, kernel, exact string }{
		{`flags & 2`, `flags & 2`, ""},
		{`flags &`, `flags &`, ""}, // the kernel says what is wrong
		{`CPUS{1}`, `CPUS{1}`, ""},
		{`comm !~ "x*"`, `!(comm ~ "x*")`, ""},
		{`filename == "a"`, ``, `filename.ustring ~ "*" && (filename.ustring == "a")`},
		{`filename.ustring == 'a"'`, ``, `filename.ustring ~ "*" && (filename.ustring == 'a"')`},
		{`filename == "a" && flags & 0x10`, `flags & 16`, `filename.ustring ~ "*" && ((filename.ustring == "a") && (flags & 16))`},
		{`filename !~ "a" || flags & 2`, ``, `filename.ustring ~ "*" && ((!(filename.ustring ~ "a")) || (flags & 2))`},
		{`!(filename == "a" || flags & 2)`, `!(flags & 2)`, `filename.ustring ~ "*" && ((!(filename.ustring == "a")) && (!(flags & 2)))`},
		{`(flags == 1 || dfd > 2) && common_pid > -1 && filename == "a" && comm == "cat"`,
			`(((flags == 1) || (dfd > 2)) && (common_pid > -1)) && (comm == "cat")`,
			`filename.ustring ~ "*" && (((((flags == 1) || (dfd > 2)) && (common_pid > -1)) && (filename.ustring == "a")) && (comm == "cat"))`},
		{`argv ~ "*x*"`, ``, ``},
	} {
		f, err := split(t, test.filter)
		if err != nil {
			t.Errorf("%s: %v", test.filter, err)
			continue
		}
		exact, _, _ := f.ByAddress()
		if f.Kernel != test.kernel || exact != test.exact {
			t.Errorf("%s: the kernel gets %s and %s, want %s and %s", test.filter, f.Kernel, exact, test.kernel, test.exact)
		}
	}
}

func TestARecordMatchesAsTheFilterSays(t *testing.T) {
	const long = "/a/text/that/is/cut/off/after/a/while/an..."
	for _, test := range []struct {
		filter, name string
		flags        uint64
		want         Answer
	}{
		{`filename == "/etc/x"`, "/etc/x", 0, Yes},
		{`filename == "/etc/x"`, "/etc/xy", 0, No},
		{`filename != "/etc/x"`, "/etc/xy", 0, Yes},
		{`filename ~ "/etc/*"`, "/etc/xy", 0, Yes},
		{`filename !~ "/etc/*"`, "/etc/xy", 0, No},
		{`!(filename !~ "/etc/*")`, "/etc/xy", 0, Yes},
		{`!filename ~ "/etc/*"`, "/etc/xy", 0, No},
		{`filename == "/etc/x"`, "", 0, Unknown},
		{`filename != "/etc/x"`, "", 0, Unknown},
		{`filename == "a" || flags & 2`, "", 2, Yes},
		{`filename == "a" || flags & 2`, "", 4, Unknown},
		{`filename == "a" && flags & 2`, "", 4, No},
		{`filename == "a" && flags >= 2 && flags < 3 && dfd == 3`, "a", 2, Yes},
		{`filename == "a" && common_pid > -1`, "a", 2, Yes},
		{`filename == "a" && comm == "x"`, "a", 2, Yes}, // the kernel has seen to it
		{`argv == "a b"`, "a\x00b", 0, Yes},
		{`filename == "a"`, long, 0, No},
		{`filename == "/a/text/that/is/cut/off/after/a/while/and/more"`, long, 0, Unknown},
		{`filename ~ "/a/text/*"`, long, 0, Yes},
		{`filename ~ "/b/*.so"`, long, 0, No},
		{`filename ~ "/a/*.so"`, long, 0, Unknown},
	} {
		f, err := split(t, test.filter)
		if err != nil {
			t.Errorf("%s: %v", test.filter, err)
			continue
		}
		if got := f.Match(record(test.name, test.flags)); got != test.want {
			t.Errorf("%s of %q and %d: %d, want %d", test.filter, test.name, test.flags, got, test.want)
		}
	}
	null := record("a", 0)
	clear(null[24:32])
	if f, _ := split(t, `filename != "x"`); f.Match(null) != No {
		t.Error("a null pointer is a text")
	}
}

func TestAWrongFilterIsRefusedWhereItIsWrong(t *testing.T) {
	for filter, pos := range map[string]int{
		`filename > "x"`:                      9,
		`filename == "x" && dfd == -1`:        26,
		`filename ~ "ab[c"`:                   14,
		`filename == "x`:                      12,
		`filename == "x" && `:                 19,
		`filename == "x" || comm == "y"`:      19,
		`filename == "x" && dfd`:              19,
		`buf == "x"`:                          0,
		`unread == "x"`:                       0,
		`filename == "x" && flags == (1 + 2)`: 31,
	} {
		_, err := split(t, filter)
		var refused *ftrace.FilterError
		if !errors.As(err, &refused) || refused.Pos != pos {
			t.Errorf("%s: %v at %+v, want it refused at %d", filter, err, refused, pos)
		}
	}
}
