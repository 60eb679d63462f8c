package ftrace

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestKernelArgsAreReadAsTheKernelReadsThem(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []FetchArg
		symbol     string // of the first
	}{
		{"a variable", "@jiffies", []FetchArg{{Name: "arg1", Fetch: "@jiffies"}}, "jiffies"},
		{"a place behind a variable", "n=@init_task+0x10:u32", []FetchArg{{Name: "n", Fetch: "@init_task+0x10", Type: "u32"}}, "init_task"},
		{"a place before a variable", "n=@init_task-8", []FetchArg{{Name: "n", Fetch: "@init_task-8"}}, "init_task"},
		{"what a variable points to", "+8(+0(@swapper_pg_dir)):string", []FetchArg{{Name: "arg1", Fetch: "+8(+0(@swapper_pg_dir))", Type: "string"}}, "swapper_pg_dir"},
		{"an address", "@0xffff0000", []FetchArg{{Name: "arg1", Fetch: "@0xffff0000"}}, ""},
		{"an address as a name", "%di:symbol %si:symstr", []FetchArg{{Name: "arg1", Fetch: "%di", Type: "symbol"}, {Name: "arg2", Fetch: "%si", Type: "symstr"}}, ""},
		{"an array of addresses", "+0(%di):symbol[4]", []FetchArg{{Name: "arg1", Fetch: "+0(%di)", Type: "symbol[4]"}}, ""},
		{"the task's memory", "file=+u0($arg2):ustring", []FetchArg{{Name: "file", Fetch: "+u0($arg2)", Type: "ustring"}}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := ParseKernelArgs(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || got[0].Symbol() != test.symbol {
				t.Errorf("symbol %q; want -, got +:\n%s", got[0].Symbol(), diff)
			}
		})
	}
}

func TestAMistakeInKernelArgsIsPointedAt(t *testing.T) {
	for _, test := range []struct{ name, text, at, message string }{
		{"an offset in a file", "%di a=@+8", "@+8", "user probes"},
		{"no variable", "@", "", "name of a variable"},
		{"an offset of nothing", "@-8", "-8", "name of a variable"},
		{"an offset that is no number", "@jiffies+x", "+x", "no number"},
		{"a stack word that is too far", "$stack2049", "2049", "2048"},
		{"an argument that is too far", "$arg2049", "2049", "2048"},
		{"a name of a number", `\5:symstr`, "symstr", "register"},
		{"a name of the stack", "$stack:symstr", "symstr", "register"},
		{"names", "+0(%di):symstr[2]", "symstr[2]", "arrays"},
		{"an array of registers", "%di:symbol[2]", "symbol[2]", "+0(…)"},
		{"a type that is none", "%di:sym", "sym", "symstr"},
	} {
		t.Run(test.name, func(t *testing.T) {
			args, err := ParseKernelArgs(test.text)
			var e *SyntaxError
			if !errors.As(err, &e) {
				t.Fatalf("got %v, %v; want a SyntaxError", args, err)
			}
			if e.Text[e.Pos:] != test.at || !strings.Contains(e.Message, test.message) {
				t.Errorf("%v\nwant %q with the caret at %q", err, test.message, test.at)
			}
		})
	}
}

func TestRegistersThatCarryNothingHaveACounterpartInTheKernel(t *testing.T) {
	args, err := ParseKernelArgs("%ax %bx %cx:u16 %dx %eax")
	if err != nil {
		t.Fatal(err)
	}
	got, notes, err := KernelArgs(args, "arm64", false)
	want := []FetchArg{{Name: "arg1", Fetch: "%x9"}, {Name: "arg2", Fetch: "%x19"}, {Name: "arg3", Fetch: "%x3", Type: "u16"}, {Name: "arg4", Fetch: "%x2"}, {Name: "arg5", Fetch: "%x9", Type: "x32"}}
	if err != nil || !slices.Equal(got, want) || len(notes) != 1 {
		t.Errorf("%v, %q, %v", got, notes, err)
	}
	got, notes, err = KernelArgs(args, "amd64", false)
	if err != nil || got[0].Fetch != "%ax" || len(notes) != 0 {
		t.Errorf("%v, %q, %v", got, notes, err)
	}
	if _, _, err := UserArgs(args, "arm64", false); err == nil {
		t.Error("user probes have no such counterpart")
	}
	if _, _, err := KernelArgs(args, "riscv64", false); err == nil {
		t.Error("registers of an architecture that nobody knows")
	}
}

func TestHitsAndMissesAreReadFromTheKernelsProfiles(t *testing.T) {
	for _, test := range []struct {
		name, line string
		kernel     bool
		want       placeProfile
	}{
		{"a kernel probe", "  myopen                                                     17              3", true, placeProfile{17, 3}},
		{"a user probe", "  /bin/bash readline                                                     17", false, placeProfile{hits: 17}},
	} {
		if got, err := parseProfile([]byte(test.line), test.kernel); err != nil || got != test.want {
			t.Errorf("%s: %+v, %v", test.name, got, err)
		}
	}
	for _, line := range []string{"", "  e", "  e x 3", "  e 1 -3"} {
		if got, err := parseProfile([]byte(line), true); err == nil {
			t.Errorf("%q: %+v", line, got)
		}
	}
}

func TestAReturnProbeSaysHowManyCallsItFollows(t *testing.T) {
	d := Dynamic{Type: 'r', Event: "e", Place: "vfs_read", MaxActive: 100}
	if line := d.line("g"); line != "r100:g/e vfs_read" || d.check("kprobe_events", "g") != nil {
		t.Errorf("%q, %v", line, d.check("kprobe_events", "g"))
	}
	for _, wrong := range []Dynamic{
		{Type: 'p', Event: "e", Place: "vfs_read", MaxActive: 1},
		{Type: 'r', Event: "e", Place: "vfs_read", MaxActive: -1},
		{Type: 'r', Event: "e", Place: "vfs_read", MaxActive: MaxActiveLimit + 1},
	} {
		if wrong.check("kprobe_events", "g") == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}

func FuzzParseKernelArgs(f *testing.F) {
	for _, text := range append(slices.Clone(fetchTable), kernelFetchTable...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args, err := ParseKernelArgs(text)
		var e *SyntaxError
		if err != nil {
			if !errors.As(err, &e) || e.Pos < 0 || e.Pos > len(text) || e.Text != text {
				t.Errorf("%#v", err)
			}
			_ = err.Error()
			return
		}
		for _, arch := range []string{"amd64", "arm64"} {
			for _, isReturn := range []bool{false, true} {
				out, _, err := KernelArgs(args, arch, isReturn)
				if err == nil && len(out) != len(args) {
					t.Errorf("of %q came %q", args, out)
				}
			}
		}
		for _, arg := range args {
			if name := arg.Symbol(); strings.ContainsAny(name, "+(") {
				t.Errorf("%q has symbol %q", arg, name)
			}
		}
	})
}
