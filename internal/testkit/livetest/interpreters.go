package livetest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/interptest"
	"github.com/ringtap/ringtap/internal/testkit/testlimit"
)

// Interpreter is an installed interpreter.
type Interpreter struct {
	Name     string   // the language and the release
	Language string   // python, php, perl or ruby
	command  []string // the command line before the program's file
	suffix   string   // the suffix of program files: ".py"
	Main     string   // the name of the outermost function
}

// interpreters returns the installed interpreters of Python, PHP, Perl and Ruby. It skips the test if
// there are none.
func interpreters(t *testing.T) (all []Interpreter) {
	t.Helper()
	for _, language := range []string{"python", "php", "perl", "ruby"} {
		for _, path := range interptest.Installed(language) {
			all = append(all, interpreter(language, path))
		}
	}
	if len(all) == 0 {
		t.Skip("none of python3, php, perl, ruby is installed")
	}
	return all
}

func interpreter(language, path string) Interpreter {
	i := Interpreter{Language: language, command: []string{path}}
	i.Name = language + " " + strings.TrimPrefix(interptest.Release(path), language)
	switch language {
	case "python":
		i.suffix, i.Main = ".py", "<module>"
	case "php":
		i.command = append(i.command, "-d", "opcache.enable_cli=0", "-d", "memory_limit=-1")
		i.suffix, i.Main = ".php", "{main}"
	case "perl":
		i.suffix, i.Main = ".pl", "{main}"
	case "ruby":
		i.command = append(i.command, "--disable=gems")
		i.suffix, i.Main = ".rb", "<main>"
	}
	return i
}

// OfEachLayout returns one installed interpreter for each layout of calls in memory. In a thorough run it
// returns more, and all of them if the machine is not emulated.
func OfEachLayout(t *testing.T) []Interpreter {
	t.Helper()
	all := interpreters(t)
	if testlimit.IsThorough() && !testlimit.Emulated() {
		return all
	}
	return slices.DeleteFunc(all, func(i Interpreter) bool { // /usr/bin/python3 is 3.11
		if i.Language != "python" || testlimit.IsThorough() {
			return i.IsUnpacked()
		}
		_, version, isOne := strings.Cut(i.Name, "python 3.")
		return isOne && !slices.ContainsFunc([]string{"8.", "12.", "13.", "14"}, func(prefix string) bool { return strings.HasPrefix(version, prefix) })
	})
}

// OfEachLanguage returns the system's interpreter of each language and the newest Python. In a thorough run it
// returns those of OfEachLayout. It is for tests that do not depend on the layout of calls.
func OfEachLanguage(t *testing.T) []Interpreter {
	t.Helper()
	all := OfEachLayout(t)
	if testlimit.IsThorough() {
		return all
	}
	newest := all[0].Name
	for _, i := range all {
		if i.Language == "python" && !i.isOfSystem() {
			newest = i.Name // all is sorted by release
		}
	}
	return slices.DeleteFunc(all, func(i Interpreter) bool { return i.Name != newest && !i.isOfSystem() })
}

// isOfSystem reports whether the interpreter belongs to the system.
func (i Interpreter) isOfSystem() bool { return strings.HasPrefix(i.command[0], "/usr/") }

// IsUnpacked reports whether this is a PHP, Perl or Ruby that does not belong to the system.
func (i Interpreter) IsUnpacked() bool {
	return i.Language != "python" && !i.isOfSystem()
}

// NewestRuby returns the newest unpacked Ruby, or nothing if there is none.
func NewestRuby(t *testing.T) []Interpreter {
	t.Helper()
	rubies := slices.DeleteFunc(interpreters(t), func(i Interpreter) bool { return i.Language != "ruby" || !i.IsUnpacked() })
	return rubies[max(len(rubies)-1, 0):]
}

// CompilingRubies returns those Rubies in all that have YJIT, with YJIT enabled.
func CompilingRubies(all []Interpreter) (compiling []Interpreter) {
	for _, i := range all {
		if i.Language == "ruby" && interptest.HasYJIT(i.command[0]) {
			i.Name += " yjit"
			i.command = append(slices.Clone(i.command), "--yjit")
			compiling = append(compiling, i)
		}
	}
	return compiling
}

// Calls returns the interpreted functions in the user stack of a row, the outermost first, without their
// classes. late reports whether they may have been read too late.
func Calls(p *profile.Profile, row *profile.Row) (names []string, late bool) {
	for _, f := range p.Stacks[row.User].Frames {
		frame := &p.Frames[f]
		late = late || frame.Name == atsample.Late
		if p.Objects[frame.Object].Runtime != "" {
			names = append(names, frame.Name[strings.LastIndexAny(frame.Name, ":#")+1:])
		}
	}
	return names, late
}

// CheckPlaces checks the places of interpreted functions in the user stack of a row: see CheckFrames.
func CheckPlaces(t *testing.T, p *profile.Profile, row *profile.Row) {
	t.Helper()
	var frames []Frame
	for _, f := range p.Stacks[row.User].Frames {
		frame := &p.Frames[f]
		frames = append(frames, Frame{frame.Name, p.Objects[frame.Object].Runtime != ""})
	}
	CheckFrames(t, frames)
}

// Frame is a frame of a stack as it is shown.
type Frame struct {
	Name        string
	Interpreted bool // not native code
}

// CheckFrames checks a stack, the outermost frame first. Interpreted functions must come after the native
// frames of the program's start. A native frame of Python's interpreter loop must not remain before them.
func CheckFrames(t *testing.T, frames []Frame) {
	t.Helper()
	named, started, loop := -1, -1, -1
	for i, frame := range frames {
		switch name, _, _ := strings.Cut(frame.Name, "+"); {
		case !frame.Interpreted:
			if name == "_start" || name == "__libc_start_main" || name == "start_thread" || name == "__clone" {
				started = i
			}
			if name == "_PyEval_EvalFrameDefault" {
				loop = i
			}
		case loop >= 0 && frame.Name != atsample.Late:
			t.Errorf("%s stands below a loop that runs no function: %v", frame.Name, frames)
			return
		case named < 0:
			named = i
		}
	}
	if named >= 0 && started > named {
		t.Errorf("functions stand before the program's start: %v", frames)
	}
}

// AreCalls reports whether names equals want. A name may also be stack.Gone: its program ended before the
// name was looked up.
func AreCalls(names, want []string) bool {
	return slices.EqualFunc(names, want, func(name, want string) bool { return name == want || name == stack.Gone })
}

// Program returns the command that runs a program. file is its path without the suffix.
func (i Interpreter) Program(file string, arguments ...string) *exec.Cmd {
	command := append(append([]string(nil), i.command...), file+i.suffix)
	return exec.Command(command[0], append(command[1:], arguments...)...)
}
