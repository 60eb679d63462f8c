package livetest

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/interp/interptest"
	"github.com/ringtap/ringtap/internal/moment"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testlimit"
)

// Interpreter is an interpreter that is installed.
type Interpreter struct {
	Name     string   // with its version, of several
	Language string   // python, php, perl or ruby
	Command  []string // before the program's file
	Suffix   string   // of the program's file: ".py"
	Main     string   // the name of the outermost function
}

// Interpreters are those of Python, PHP, Perl and Ruby that are installed. The test is skipped where
// there is none.
func Interpreters(t *testing.T) (all []Interpreter) {
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
	i := Interpreter{Language: language, Command: []string{path}}
	i.Name = language + " " + strings.TrimPrefix(interptest.Release(path), language)
	switch language {
	case "python":
		i.Suffix, i.Main = ".py", "<module>"
	case "php":
		i.Command = append(i.Command, "-d", "opcache.enable_cli=0", "-d", "memory_limit=-1")
		i.Suffix, i.Main = ".php", "{main}"
	case "perl":
		i.Suffix, i.Main = ".pl", "{main}"
	case "ruby":
		i.Command = append(i.Command, "--disable=gems")
		i.Suffix, i.Main = ".rb", "<main>"
	}
	return i
}

// OfEachLayout are of the Interpreters one of each way in which calls lie in memory, unless nothing
// is to be left out.
func OfEachLayout(t *testing.T) []Interpreter {
	t.Helper()
	all := Interpreters(t)
	if testlimit.IsThorough() && !testlimit.Emulated() {
		return all
	}
	return slices.DeleteFunc(all, func(i Interpreter) bool { // /usr/bin/python3 is 3.11
		if i.Language != "python" || testlimit.IsThorough() {
			return i.IsUnpacked()
		}
		_, version, isOne := strings.Cut(i.Name, "python 3.")
		return isOne && !slices.ContainsFunc([]string{"8.", "12.", "13.", "14"}, func(of string) bool { return strings.HasPrefix(version, of) })
	})
}

// OfEachLanguage are of the Interpreters of each layout the one of each language that the machine has, and the
// newest Python, unless nothing is to be left out: for tests of what is done with calls, however they lie.
func OfEachLanguage(t *testing.T) []Interpreter {
	t.Helper()
	all := OfEachLayout(t)
	if testlimit.IsThorough() {
		return all
	}
	newest := all[0].Name
	for _, i := range all {
		if i.Language == "python" && !i.IsOfSystem() {
			newest = i.Name // they are in the order of their releases
		}
	}
	return slices.DeleteFunc(all, func(i Interpreter) bool { return i.Name != newest && !i.IsOfSystem() })
}

// IsOfSystem tells whether it is one that the machine has.
func (i Interpreter) IsOfSystem() bool { return strings.HasPrefix(i.Command[0], "/usr/") }

// IsUnpacked tells whether it is of PHP, Perl or Ruby and not what the system has.
func (i Interpreter) IsUnpacked() bool {
	return i.Language != "python" && !i.IsOfSystem()
}

// NewestRuby is the newest Ruby that is unpacked, if there is one.
func NewestRuby(t *testing.T) []Interpreter {
	t.Helper()
	rubies := slices.DeleteFunc(Interpreters(t), func(i Interpreter) bool { return i.Language != "ruby" || !i.IsUnpacked() })
	return rubies[max(len(rubies)-1, 0):]
}

// CompilingRubies are those of the Interpreters that compile what runs often (YJIT), told to do so.
func CompilingRubies(of []Interpreter) (compiling []Interpreter) {
	for _, i := range of {
		if i.Language == "ruby" && interptest.HasYJIT(i.Command[0]) {
			i.Name += " yjit"
			i.Command = append(slices.Clone(i.Command), "--yjit")
			compiling = append(compiling, i)
		}
	}
	return compiling
}

// Calls are the functions of interpreted code in the user stack of a row, the outermost first, without their
// classes, and whether they were read too late to be sure.
func Calls(p *profile.Profile, row *profile.Row) (names []string, late bool) {
	for _, f := range p.Stacks[row.User].Frames {
		frame := &p.Frames[f]
		late = late || frame.Name == moment.Late
		if p.Objects[frame.Object].Runtime != "" {
			names = append(names, frame.Name[strings.LastIndexAny(frame.Name, ":#")+1:])
		}
	}
	return names, late
}

// CheckPlaces checks the places of functions of interpreted code in the user stack of a row: see CheckFrames.
func CheckPlaces(t *testing.T, p *profile.Profile, row *profile.Row) {
	t.Helper()
	var frames []Frame
	for _, f := range p.Stacks[row.User].Frames {
		frame := &p.Frames[f]
		frames = append(frames, Frame{frame.Name, p.Objects[frame.Object].Runtime != ""})
	}
	CheckFrames(t, frames)
}

// Frame is one of a stack as it is shown.
type Frame struct {
	Name        string
	Interpreted bool // it is no native code
}

// CheckFrames checks of a stack, the outermost frame first, that functions of interpreted code stand inside
// the interpreter's own, which begin with the program's start, and none of them outside a loop that has run
// others.
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
		case loop >= 0 && frame.Name != moment.Late:
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

// AreCalls tells whether the names of functions are those, but for functions that had gone before
// their names were asked for: those of a program that has ended.
func AreCalls(names, want []string) bool {
	return slices.EqualFunc(names, want, func(name, want string) bool { return name == want || name == stack.Gone })
}

// Program makes the command that runs a program: the file without its suffix, and arguments.
func (i Interpreter) Program(file string, arguments ...string) *exec.Cmd {
	command := append(append([]string(nil), i.Command...), file+i.Suffix)
	return exec.Command(command[0], append(command[1:], arguments...)...)
}
