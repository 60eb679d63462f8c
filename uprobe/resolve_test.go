package uprobe

import (
	"bytes"
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
	"github.com/ringtap/ringtap/internal/library"
	"github.com/ringtap/ringtap/symbols"
	"github.com/ringtap/ringtap/uprobe/placement"
)

// as is errors.As with a new variable.
func as[T error](err error) (found T, ok bool) {
	ok = errors.As(err, &found)
	return found, ok
}

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

// instructions are the addresses at which objdump shows instructions of a
// function.
func instructions(t *testing.T, program, function string) (addresses []uint64) {
	t.Helper()
	if _, err := exec.LookPath("objdump"); err != nil {
		t.Skip("objdump is not installed")
	}
	out, err := exec.Command("objdump", "-d", "--no-show-raw-insn", "--disassemble="+function, program).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		var addr uint64
		if n, _ := fmt.Sscanf(line, " %x:", &addr); n == 1 {
			addresses = append(addresses, addr)
		}
	}
	if len(addresses) < 3 {
		t.Fatalf("objdump shows %d instructions of %s", len(addresses), function)
	}
	return addresses
}

func TestPeerOffsetsAreTakenWhereObjdumpShowsInstructions(t *testing.T) {
	program := build(t, "pie") // the linker lays out its code at offsets that are the addresses
	addresses := instructions(t, program, "target")
	start, last := addresses[0], addresses[len(addresses)-1]
	for addr := start; addr <= last; addr++ {
		for _, place := range []string{fmt.Sprintf("%#x", addr), fmt.Sprintf("target+%d", addr-start)} {
			p, err := tryResolve("p:"+program+":"+place, Options{})
			if slices.Contains(addresses, addr) {
				if err != nil {
					t.Errorf("%s: %v", place, err)
				} else if p.Sites[0].Offset != addr && !strings.HasSuffix(place, "+0") {
					t.Errorf("%s: the site is %#x, want %#x", place, p.Sites[0].Offset, addr)
				}
			} else if _, ok := as[*placement.NotBoundaryError](err); !ok {
				t.Errorf("%s, within an instruction: the error is %v", place, err)
			}
			if err == nil {
				p.Close()
			}
		}
	}
}

func TestAnOffsetThatIsNoPlaceSaysWhy(t *testing.T) {
	program := build(t, "pie")
	for place, want := range map[string]string{
		"target+0x10000":     "",
		"0x0":                "no code is there",
		"0xffffffffffffffff": "no code is there",
		"0x2000":             "",
	} {
		p, err := tryResolve("p:"+program+":"+place, Options{})
		if err == nil {
			p.Close()
		}
		if e, ok := as[*PlaceError](err); !ok || !strings.Contains(e.Error(), want) {
			t.Errorf("%s: the error is %v", place, err)
		}
	}
	p := resolve(t, "p:"+program+":target", Options{Exact: true})
	start := p.Sites[0].Offset
	resolve(t, fmt.Sprintf("r:%s:%#x", program, start), Options{})
	if _, err := tryResolve(fmt.Sprintf("r:%s:%#x", program, start+4), Options{}); err == nil {
		t.Error("a return probe is taken within a function")
	}
}

func TestAnAddressIsExplainedWhereAnOffsetIsMeant(t *testing.T) {
	program := build(t, "nopie")
	p := resolve(t, "p:"+program+":target", Options{Exact: true})
	vaddr, _ := p.target.image.Vaddr(p.Sites[0].Offset)
	if vaddr == p.Sites[0].Offset {
		t.Skip("this linker gives programs addresses that are their offsets")
	}
	_, err := tryResolve(fmt.Sprintf("p:%s:%#x", program, vaddr), Options{})
	if e, ok := as[*PlaceError](err); !ok || !strings.Contains(e.Error(), fmt.Sprintf("file offset %#x", p.Sites[0].Offset)) {
		t.Errorf("the error is %v", err)
	}
}

func TestCodeWithoutNamesIsReadFromTheSectionsStart(t *testing.T) {
	if out, err := exec.Command("strip", "--version").Output(); err != nil {
		t.Skipf("strip is not installed: %s", out)
	}
	program := build(t, "static")
	p := resolve(t, "p:"+program+":target", Options{Exact: true})
	offset := p.Sites[0].Offset
	if out, err := exec.Command("strip", program).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	resolve(t, fmt.Sprintf("p:%s:%#x", program, offset), Options{Exact: true})
	q, err := tryResolve(fmt.Sprintf("p:%s:%#x", program, offset), Options{})
	if err != nil {
		t.Logf("not known: %v", err)
		return
	}
	q.Close()
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
	link := filepath.Join(filepath.Dir(program), "lib.x.so")
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

func TestAnIndirectFunctionIsExplained(t *testing.T) {
	p, err := tryResolve("p:libc:strlen", Options{})
	if err != nil {
		t.Skip(err)
	}
	defer p.Close()
	f := p.target.symbols
	found, err := f.Find("strlen")
	if err != nil || len(found) == 0 || found[0].Kind != symbols.Indirect {
		t.Skip("this libc's strlen is no indirect function")
	}
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "resolver") {
		t.Errorf("the notes are %q", p.Notes)
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

func TestArgumentsThatCannotBeFetchedArePointedAt(t *testing.T) {
	program, stripped, gobuild := build(t, "pie"), build(t, "nopie"), build(t, "go")
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
	} {
		text := test.text
		if strings.Contains(text, "+0x4") { // wherever the second instruction is
			text = strings.Replace(text, "+0x4", fmt.Sprintf("+%d", func() uint64 {
				a := instructions(t, program, "target")
				return a[2] - a[0]
			}()), 1)
		}
		p, err := tryResolve(text, Options{})
		if err == nil {
			p.Close()
			t.Errorf("%s is taken", text)
			continue
		}
		var pos int
		if e, ok := as[*ArgError](err); ok {
			pos = e.Pos
		} else if e, ok := as[*ftrace.SyntaxError](err); ok {
			pos = e.Pos
		} else {
			t.Errorf("%s: the error is %v", text, err)
			continue
		}
		if !strings.HasPrefix(text[pos:], test.at) || !strings.Contains(err.Error(), test.message) {
			t.Errorf("%s: it points at %q: %v", text, text[pos:], err)
		}
	}
}
