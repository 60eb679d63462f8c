package advice

import (
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/profile"
)

// profileOf is of one process: a stack through a file's function and a leaf, and so much
// of a hundred samples on it.
func profileOf(comm, file string, leaf profile.Frame, share uint64) *profile.Profile {
	return &profile.Profile{
		Objects:   []profile.Object{{Path: "[kernel]", Kernel: true}, {Path: file}, {Path: anonymous}, {Path: "/bin/other"}},
		Frames:    []profile.Frame{{Object: 1, Name: "main"}, leaf, {Object: 3, Name: "work"}},
		Stacks:    []profile.Stack{{Frames: []int{0, 1}}, {Frames: []int{2}}},
		Processes: []profile.Process{{PID: 42, TGID: 42, Comm: comm}, {PID: 7, TGID: 7, Comm: "other"}},
		Rows: []profile.Row{
			{Process: 0, User: 0, Kernel: profile.None, Values: []uint64{share}},
			{Process: 1, User: 1, Kernel: profile.None, Values: []uint64{100 - share}},
		},
	}
}

func TestTheNoteSaysWhatTheRuntimeNeeds(t *testing.T) {
	generated := profile.Frame{Object: 2}
	eval := profile.Frame{Object: 1, Name: "_PyEval_EvalFrameDefault"}
	for _, test := range []struct {
		name, comm, file string
		leaf             profile.Frame
		share            uint64
		want             string // "" for no note
	}{
		{"node", "node", "/usr/bin/node", generated, 90, "90% is in code of node (pid 42) that has no names: start it as node --perf-basic-prof"},
		{"node by its library", "MainThread", "/usr/lib/libnode.so.108", generated, 90, "node --perf-basic-prof"},
		{"java", "main", "/usr/lib/jvm/lib/server/libjvm.so", generated, 50, "jcmd 42 Compiler.perfmap"},
		{"java by the name of the process", "java", "/lib/libc.so.6", generated, 50, "jcmd 42 Compiler.perfmap"},
		{".NET", "app", "/app/libcoreclr.so", generated, 50, "DOTNET_PerfMapEnabled=1"},
		{"ruby", "ruby", "/usr/lib/libruby-3.3.so.3.3", generated, 50, "ruby --yjit-perf"},
		{"python", "python3", "/usr/bin/python3.12", eval, 50, "python3 -X perf"},
		{"an older python", "python3", "/usr/lib/libpython3.11.so.1.0", eval, 50, "does not name functions of python 3.11"},
		{"python with names", "python3", "/usr/bin/python3.12", profile.Frame{Object: 2, Name: "py::f:x.py"}, 50, ""},
		{"generated code with a name", "node", "/usr/bin/node", profile.Frame{Object: 2, Name: "LazyCompile:~f"}, 50, ""},
		{"little", "node", "/usr/bin/node", generated, 5, ""},
		{"a program of which nothing is known", "luajit", "/usr/bin/luajit", generated, 90, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var seen Seen
			p := profileOf(test.comm, test.file, test.leaf, test.share)
			got := strings.Join(seen.Notes(p), "\n")
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
			if again := seen.Notes(p); len(again) > 0 {
				t.Errorf("said again: %q", again)
			}
		})
	}
}

func TestAPythonWhoseFunctionsWereReadNeedsNothing(t *testing.T) {
	p := profileOf("python3", "/usr/bin/python3.11", profile.Frame{Object: 1, Name: "_PyEval_EvalFrameDefault"}, 50)
	p.Objects = append(p.Objects, profile.Object{Path: "[CPython 3.11.2]", Runtime: "CPython 3.11.2"})
	p.Frames = append(p.Frames, profile.Frame{Object: len(p.Objects) - 1, Name: "work"})
	p.Stacks = append(p.Stacks, profile.Stack{Frames: []int{0, len(p.Frames) - 1}})
	p.Rows = append(p.Rows, profile.Row{Process: 0, User: len(p.Stacks) - 1, Kernel: profile.None, Values: []uint64{1}})
	var seen Seen
	if notes := seen.Notes(p); len(notes) > 0 {
		t.Errorf("%q", notes)
	}
}

func TestTheNoteNamesTheFileThatIsStripped(t *testing.T) {
	unnamed := profile.Frame{Object: 1, Name: "server+0x1200", Unnamed: true}
	const note = "in functions of server that have no names: install its debug symbols"
	for _, test := range []struct {
		name   string
		leaf   profile.Frame
		share  uint64
		kernel int
		want   string
	}{
		{"much", unnamed, 24, profile.None, "24% is " + note},
		{"little", unnamed, 5, profile.None, ""},
		{"in the kernel below", unnamed, 24, 1, ""},
		{"a function with a name", profile.Frame{Object: 1, Name: "serve"}, 90, profile.None, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var seen Seen
			p := profileOf("server", "/usr/sbin/server", test.leaf, test.share)
			p.Rows[0].Kernel = test.kernel
			got := strings.Join(seen.Notes(p), "\n")
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("%q, want %q", got, test.want)
			}
			if again := seen.Notes(p); len(again) > 0 {
				t.Errorf("said again: %q", again)
			}
		})
	}
}
