package uprobe

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe/library"
)

func TestAFileThatCannotBeProbedSaysWhy(t *testing.T) {
	dir := t.TempDir()
	program, err := os.ReadFile(build(t, "pie"))
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.Clone(program)
	other[18], other[19] = 0xf3, 0 // e_machine: RISC-V
	files := map[string][]byte{
		"empty":     nil,
		"text":      []byte("hello, world\n"),
		"truncated": program[:len(program)/4],
		"header":    program[:70],
		"few bytes": program[:20],
		"riscv":     other,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		file string
		err  error
		text string
	}{
		{"empty", ErrNotELF, ""},
		{"text", ErrNotELF, ""},
		{"truncated", ErrTruncated, ""},
		{"header", ErrTruncated, ""},
		{"few bytes", nil, ""},
		{"riscv", ErrMachine, "RISCV"},
	} {
		p, err := tryResolve(`p:"`+filepath.Join(dir, test.file)+`":main`, Options{})
		if err == nil {
			p.Close()
		}
		if _, ok := as[*TargetError](err); !ok || test.err != nil && !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: the error is %v, want %v", test.file, err, test.err)
		}
	}
	if _, err := tryResolve("p:"+build(t, "object")+":target", Options{}); !errors.Is(err, ErrNoCode) {
		t.Errorf("an object file: the error is %v", err)
	}
	link := build(t, "debuglink")
	if _, err := tryResolve("p:"+link+".debug:target", Options{}); err == nil {
		t.Error("a file of debug information only is taken")
	}
	if _, err := tryResolve("p:"+dir+":main", Options{}); err == nil {
		t.Error("a directory is taken")
	}
	if _, err := tryResolve("p:no_such_command_or_library:main", Options{}); err == nil {
		t.Error("a target that is not there is taken")
	} else if _, ok := as[*library.NotFoundError](err); !ok {
		t.Errorf("a target that is not there: the error is %v", err)
	}
}

func TestASymbolThatCannotBeProbedSaysWhy(t *testing.T) {
	program, stripped, shared := build(t, "pie"), build(t, "stripped"), build(t, "shared")
	for _, test := range []struct {
		text  string
		check func(*SymbolError) bool
	}{
		{"p:" + program + ":targt", func(e *SymbolError) bool { return !e.Imported && !e.Stripped && slices.Contains(e.Near, "target") }},
		{"p:" + program + ":nothing_like_it", func(e *SymbolError) bool { return !e.Imported }},
		{"p:" + program + ":nothing_like_it*", func(e *SymbolError) bool { return !e.Imported }},
		{"p:" + stripped + ":target", func(e *SymbolError) bool { return e.Stripped && strings.Contains(e.Error(), "stripped") }},
		{"p:" + program + ":pthread_create", func(e *SymbolError) bool { return e.Imported && strings.Contains(e.Library, "libc.so.6") }},
		{"p:" + shared + ":target", func(e *SymbolError) bool { return e.Imported }},
		{`p:` + program + `:"tar*"`, func(e *SymbolError) bool { return e.Name == "tar*" }},
	} {
		p, err := tryResolve(test.text, Options{})
		if err == nil {
			p.Close()
		}
		if e, ok := as[*SymbolError](err); !ok || !test.check(e) {
			t.Errorf("%s: the error is %v", test.text, err)
		}
	}
}

func TestArgumentsThatCannotBeFetchedArePointedAt(t *testing.T) {
	program, stripped, gobuild := build(t, "pie"), build(t, "nopie"), build(t, "go")
	addresses := instructions(t, program, "target")
	within := fmt.Sprintf("+%d", addresses[2]-addresses[0]) // at an instruction
	for _, test := range []struct{ text, at, message string }{
		{"p:" + program + ":target $retval", "$retval", "return"},
		{"r:" + program + ":target $arg1", "$arg1", ""},
		{"p:" + program + ":target x=%nosuch", "x=%nosuch", ""},
		{"p:" + program + ":target+0x4 $arg1", "$arg1", "first instruction"},
		{"p:" + program + ":target n=%di n=%si", "", "n"},
		{"p:" + program + ":target nosuch", "nosuch", "name"},
		{"p:" + program + ":target d", "d", "floating"},
		{"p:" + program + ":target n b", "b", "big"},
		{"p:" + stripped + ":target n", "n", "$arg1"},
		{"p:" + gobuild + ":main.greet $arg40", "$arg40", ""},
		{"p:alias " + program + ":targ[et", "[et", "not closed"},
	} {
		text := strings.Replace(test.text, "+0x4", within, 1)
		p, err := tryResolve(text, Options{})
		if err == nil {
			p.Close()
			t.Errorf("%s is taken", text)
			continue
		}
		e, ok := as[*ftrace.SyntaxError](err)
		if !ok {
			t.Errorf("%s: the error is %v", text, err)
			continue
		}
		if !strings.HasPrefix(text[e.Pos:], test.at) || !strings.Contains(e.Message, test.message) {
			t.Errorf("%s: it points at %q: %v", text, text[e.Pos:], err)
		}
	}
}

func TestErrorsDoNotDisturbATerminal(t *testing.T) {
	bad := "a\x1b[31m\nb"
	for _, err := range []error{
		&TargetError{Path: bad, Err: errors.New(bad)},
		&SymbolError{Name: bad, Path: bad, Near: []string{bad}},
		&SymbolError{Name: bad, Path: bad, Imported: true, Library: bad},
		&MarkError{Path: bad, Provider: bad, Name: bad, Known: []string{bad}},
		&PlaceError{Path: bad, Err: errors.New(bad)},
		&TooManyError{Definition: bad},
	} {
		if strings.ContainsAny(err.Error(), "\x1b\n") {
			t.Errorf("%T: %q", err, err.Error())
		}
	}
}
