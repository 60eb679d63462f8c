package uprobe

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe/library"
	"github.com/ringtap/ringtap/symbols"
)

// as is errors.As with a new variable.
func as[T error](err error) (found T, ok bool) {
	ok = errors.As(err, &found)
	return found, ok
}

func TestAPatternStandsForAllItMatchesUpToALimit(t *testing.T) {
	program := build(t, "cxx")
	p := resolve(t, "p:"+program+":ns::T::*", Options{})
	if len(p.Sites) != 3 {
		t.Errorf("%d sites, want 3: %+v", len(p.Sites), p.Sites)
	}
	if !slices.IsSortedFunc(p.Sites, func(a, b Site) int { return int(a.Offset) - int(b.Offset) }) {
		t.Errorf("sites are not sorted: %+v", p.Sites)
	}
	_, err := tryResolve("p:"+program+":ns::T::*", Options{MaxSites: 2})
	if e, ok := as[*TooManyError](err); !ok || e.Count != 3 || e.Max != 2 {
		t.Errorf("with a limit of 2 the error is %v", err)
	}
}

func TestSeveralFunctionsOfANameAreAllProbedAndSaidToBe(t *testing.T) {
	p := resolve(t, "p:"+build(t, "cxx")+":ns::T::f", Options{})
	if len(p.Sites) != 2 || len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "f(long)") {
		t.Errorf("%d sites, notes %q", len(p.Sites), p.Notes)
	}
	if a, b := p.Sites[0].Event, p.Sites[1].Event; a != ftrace.EventIdentifier("ns::T::f") || b != a+"_1" {
		t.Errorf("the events are %s and %s", a, b)
	}
}

func TestThePlanIsShownAsPerfToolsDoes(t *testing.T) {
	program := build(t, "pie")
	p := resolve(t, "p:"+program+":target", Options{Exact: true})
	offset := p.Sites[0].Offset
	for text, want := range map[string]string{
		"p:{}:target":                    "p:target {}:%#x",
		"p:alias {}:target":              "p:alias {}:%#x",
		"r:{}:target +0($retval):string": "r:target {}:%#x +0($retval):string",
	} {
		p := resolve(t, replaceTarget(text, program), Options{Exact: true})
		if want := fmt.Sprintf(replaceTarget(want, program), offset); p.String() != want {
			t.Errorf("%s is shown as %s, want %s", text, p, want)
		}
	}
	link := filepath.Join(t.TempDir(), "lib.x.so")
	if err := os.Symlink(program, link); err != nil {
		t.Fatal(err)
	}
	p = resolve(t, fmt.Sprintf("p:%s:%#x", link, offset), Options{})
	if want := fmt.Sprintf("_%#x", offset); !strings.HasSuffix(p.Name(), want) {
		t.Errorf("an address is called %s", p.Name())
	}
}

func TestPeerTheExamplesOfPerfToolsResolveAsItDoes(t *testing.T) {
	for _, text := range peerExamples {
		d, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if d.Place != PlaceFunction {
			continue
		}
		p, err := Resolve(d, Options{Exact: true})
		var at uint64
		if err == nil {
			at = p.Sites[0].Offset
			if strings.Contains(strings.Join(p.Notes, ""), "IFUNC") {
				p.Close()
				continue // perf-tools probes the resolver, which the calls do not run
			}
			p.Close()
		}
		if _, ok := as[*library.NotFoundError](err); ok || errors.Is(err, fs.ErrNotExist) {
			continue // of the author's machine
		}
		path := ""
		if e, ok := as[*SymbolError](err); ok {
			path = e.Path
		} else if err == nil {
			path = p.Path
		} else {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if want := peerAddress(t, path, d.Symbol); (err == nil) != (want != 0) || err == nil && at != want {
			t.Errorf("%s: %#x, %v; perf-tools probes %#x", text, at, err, want)
		}
	}
}

// peerAddress is what perf-tools probes in a file of type ET_DYN: the first
// row of objdump's with the name that is in the section .text; 0 if none.
func peerAddress(t *testing.T, path, symbol string) uint64 {
	t.Helper()
	if _, err := exec.LookPath("objdump"); err != nil {
		t.Skip("objdump is not installed")
	}
	out, err := exec.Command("objdump", "-tT", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		row := strings.Fields(line)
		if len(row) > 4 && row[len(row)-1] == symbol && slices.Contains(row, ".text") {
			var addr uint64
			if _, err := fmt.Sscanf(row[0], "%x", &addr); err != nil {
				t.Fatal(err)
			}
			return addr
		}
	}
	return 0
}

func TestParamsAreThoseOfTheFunction(t *testing.T) {
	program := build(t, "pie")
	params, _, err := Params(program, Options{}, "main")
	if err == nil && len(params) != 2 {
		t.Errorf("main has the parameters %v", params)
	}
	if err != nil && !errors.Is(err, symbols.ErrNoParams) {
		t.Errorf("main: %v", err)
	}
	if _, _, err := Params(program, Options{}, "nosuch"); !errors.As(err, new(*SymbolError)) {
		t.Errorf("of a function that is not there the error is %v", err)
	}
}

func TestFunctionsListsWhatCanBeProbed(t *testing.T) {
	program := build(t, "pie")
	functions, path, err := Functions(program, Options{})
	if err != nil || path != program {
		t.Fatalf("%s: %v", path, err)
	}
	for name, kind := range map[string]symbols.FunctionKind{
		"target": symbols.Defined, "main": symbols.Defined, "pthread_create": symbols.Imported,
	} {
		if !slices.ContainsFunc(functions, func(f symbols.Function) bool { return f.Name == name && f.Kind == kind }) {
			t.Errorf("%s is not listed", name)
		}
	}
	if _, _, err := Functions("/etc/passwd", Options{}); !errors.Is(err, ErrNotELF) {
		t.Errorf("of a text the error is %v", err)
	}
}
