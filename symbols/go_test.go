package symbols

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

const goProgram = `package main

import (
	"fmt"
	"strings"
)

type T struct{ a int }

//go:noinline
func (t *T) m(x int) int {
	return outer(x) + t.a // line 12
}

func outer(x int) int {
	return inner(x) + 1 // line 16
}

func inner(x int) int {
	return x * sink // line 20
}

var sink = 3

func generic[E any](e E) string { return fmt.Sprint(e) }

func main() {
	t := &T{3}
	func() { fmt.Println(t.m(len(strings.Fields("a b"))), generic(t), generic(4)) }()
}
`

// buildGo builds the fixture program with flags and returns its path.
func buildGo(t *testing.T, flags ...string) string {
	t.Helper()
	return buildGoSource(t, goProgram, flags...)
}

// buildGoSource builds a program of one file with flags and returns its path.
func buildGoSource(t *testing.T, text string, flags ...string) string {
	t.Helper()
	const program = "program"
	command := append(append([]string{"go", "build", "-o", program}, flags...), "main.go")
	dir := compiled.Recipe{
		Sources:  map[string]string{"main.go": text},
		Commands: [][]string{command},
		Env:      []string{"CGO_ENABLED=0", "GOFLAGS="},
	}.Dir(t)
	return filepath.Join(dir, program)
}

func goTool(t *testing.T) string {
	t.Helper()
	tool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("no go command")
	}
	return tool
}

// openFile opens path for the length of a test.
func openFile(t testing.TB, path string, opts Options) *File {
	t.Helper()
	fd, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fd.Close() })
	info, err := fd.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(fd, info.Size(), opts)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// nmFunctions returns what nm prints for the functions of a program, by address.
func nmFunctions(t *testing.T, output []byte) map[uint64][]string {
	t.Helper()
	functions := map[uint64][]string{}
	for _, line := range strings.Split(string(output), "\n") {
		f := strings.Fields(line)
		if len(f) < 3 || len(f[1]) != 1 || !strings.Contains("TtWwi", f[1]) {
			continue
		}
		addr, err := strconv.ParseUint(f[0], 16, 64)
		if err != nil {
			t.Fatalf("nm line %q: %v", line, err)
		}
		functions[addr] = append(functions[addr], strings.Join(f[2:], " "))
	}
	return functions
}

// offsetOf converts an address with debug/elf's program headers, not ours.
func offsetOf(f *elf.File, addr uint64) uint64 {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && addr >= p.Vaddr && addr < p.Vaddr+p.Filesz {
			return addr - p.Vaddr + p.Off
		}
	}
	return 0
}

func TestPeerStrippedGoProgramsHaveTheNamesOfTheirUnstrippedTwins(t *testing.T) {
	for _, mode := range []string{"exe", "pie"} {
		t.Run(mode, func(t *testing.T) {
			plain := buildGo(t, "-buildmode="+mode)
			stripped := buildGo(t, "-buildmode="+mode, "-ldflags=-s -w")
			nm := func(path string) map[uint64][]string {
				out, err := exec.Command(goTool(t), "tool", "nm", path).Output()
				if err != nil {
					t.Fatalf("go tool nm: %v", err)
				}
				return nmFunctions(t, out)
			}
			twin, err := elf.Open(plain)
			if err != nil {
				t.Fatal(err)
			}
			defer twin.Close()
			f := openFile(t, stripped, Options{})
			checked := 0
			for addr, names := range nm(plain) {
				if len(names) == 1 && strings.HasPrefix(names[0], "runtime.e") {
					continue // the linker's marks behind the last function
				}
				s, ok := f.Lookup(offsetOf(twin, addr))
				if !ok || !anyName(names, s.Name) {
					t.Errorf("%#x: got %q, want one of %q", addr, s.Name, names)
				}
				checked++
			}
			if checked < 1000 {
				t.Errorf("only %d functions compared", checked)
			}
		})
	}
}

// anyName reports whether one of nm's names is got. The symbol table marks the
// calling convention of assembly functions, the table for tracebacks does not,
// and of some generic functions that one leaves out the types.
func anyName(names []string, got string) bool {
	for _, name := range names {
		name = strings.TrimSuffix(name, ".abi0")
		got = strings.ReplaceAll(got, "·", ".") // as nm prints it
		if name == got {
			return true
		}
		open, end := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
		if open >= 0 && end > open && name[:open]+"[...]"+name[end+1:] == got {
			return true
		}
	}
	return false
}

func TestLinesOfGoProgramsNameInlinedCalls(t *testing.T) {
	for _, mode := range []string{"exe", "pie"} {
		t.Run(mode, func(t *testing.T) {
			f := openFile(t, buildGo(t, "-buildmode="+mode, "-ldflags=-s -w"), Options{})
			m := findSymbol(t, f, "main.(*T).m")
			if start, _ := f.Lookup(m.Start + m.Size - 1); start != m {
				t.Errorf("last byte of %v belongs to %v", m, start)
			}
			want := []Line{
				{Function: "main.inner", Line: 20, StartLine: 19},
				{Function: "main.outer", Line: 16, StartLine: 15},
				{Function: "main.(*T).m", Line: 12, StartLine: 11},
			}
			for off := m.Start; off < m.Start+m.Size; off++ {
				lines, err := f.Lines(off)
				if err != nil {
					t.Fatal(err)
				}
				for i := range lines {
					if filepath.Base(lines[i].File) != "main.go" {
						t.Errorf("offset %#x: file %q", off, lines[i].File)
					}
					lines[i].File = ""
				}
				if slices.Equal(lines, want) {
					return
				}
			}
			t.Errorf("no instruction of main.(*T).m is in main.inner inlined twice")
		})
	}
}

// Go's own table tells into which functions another was inlined, in stripped programs too, and
// debug information where the copies are.
func TestInlinedGoFunctionsHaveCallers(t *testing.T) {
	whole, stripped := openFile(t, buildGo(t), Options{}), openFile(t, buildGo(t, "-ldflags=-s -w"), Options{})
	for _, f := range []*File{whole, stripped} {
		if got := f.GoCallers("main.inner"); !slices.Equal(got, []string{"main.(*T).m"}) {
			t.Errorf("main.inner was inlined into %q, want main.(*T).m", got)
		}
		if got := f.GoCallers("main.main"); got != nil {
			t.Errorf("main.main was inlined into %q", got)
		}
	}
	if places, err := whole.Inlined("main.inner"); err != nil || len(places) == 0 || places[0].Function != "main.inner" {
		t.Errorf("the copies of main.inner are at %v, %v", places, err)
	}
}

// findSymbol returns the symbol of that name, found as a caller would find it:
// by its place.
func findSymbol(t testing.TB, f *File, name string) Symbol {
	t.Helper()
	for _, r := range codeOf(f.image) {
		for addr := r.start; addr < r.end; {
			off, ok := f.image.Offset(addr)
			if !ok {
				break
			}
			s, ok := f.Lookup(off)
			if !ok {
				addr++
				continue
			}
			if s.Name == name {
				return s
			}
			addr += max(1, s.Start+s.Size-off)
		}
	}
	t.Fatalf("no symbol %s", name)
	return Symbol{}
}
