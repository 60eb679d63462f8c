package dwarfline

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// marked has a label in code that is inlined twice, each level on a known
// line, so that the right answer does not come from another tool.
var marked = map[string]string{"main.c": `static inline __attribute__((always_inline))
int inner(int x)
{
	__asm__ volatile(".globl here\nhere: nop");
	return x + 1;
}

static inline __attribute__((always_inline)) int middle(int x)
{
	return 2 *
		inner(x);
}

int main(int argc, char **argv)
{
	(void)argv;
	return middle(argc);
}
`}

// label returns the address of a symbol.
func label(t testing.TB, f *elf.File, name string) uint64 {
	t.Helper()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(symbols, func(s elf.Symbol) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no symbol %s", name)
	}
	return symbols[i].Value
}

func TestLookupFindsEachLevelOfInlining(t *testing.T) {
	for _, flags := range []string{
		"-gdwarf-3", "-gdwarf-4", "-gdwarf-5",
		"-gdwarf-5 -gdwarf64", "-gdwarf-4 -fdebug-types-section", "-g -gz=zlib", "-g -flto", "-g -static",
	} {
		t.Run(flags, func(t *testing.T) {
			args := append(strings.Fields(flags), "-O2", "-o", "out", "main.c")
			file := build(t, marked, "gcc", args...)
			x, f := openELF(t, file)
			got, err := x.Lookup(label(t, f, "here"))
			if err != nil {
				t.Fatal(err)
			}
			source := filepath.Join(filepath.Dir(file), "main.c")
			want := []Line{
				{"inner", source, 4, 2},
				{"middle", source, 11, 8},
				{"main", source, 17, 14},
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestLookupInSplitUnitHasLineOnly(t *testing.T) {
	for _, flags := range []string{"-gdwarf-4", "-gdwarf-5"} {
		t.Run(flags, func(t *testing.T) {
			x, f := openELF(t, build(t, marked, "gcc", flags, "-gsplit-dwarf", "-O2", "-o", "out", "main.c"))
			got, err := x.Lookup(label(t, f, "here"))
			if err != nil {
				t.Fatal(err)
			}
			if len(got) != 1 || got[0].Function != "" || got[0].Line != 4 || !strings.HasSuffix(got[0].File, "/main.c") {
				t.Errorf("got %v, want line 4 of main.c alone", got)
			}
		})
	}
}

func TestLookupKnowsNothingOutsideOfCode(t *testing.T) {
	x, _ := openELF(t, build(t, marked, "gcc", "-g", "-o", "out", "main.c"))
	for _, addr := range []uint64{0, 1, 1 << 40, ^uint64(0)} {
		if got, err := x.Lookup(addr); got != nil || err != nil {
			t.Errorf("Lookup(%#x) = %v, %v; want nothing", addr, got, err)
		}
	}
}

// recorder notes which sections are asked for.
type recorder struct {
	Source
	asked []string
}

func (r *recorder) SectionData(name string) ([]byte, error) {
	r.asked = append(r.asked, name)
	return r.Source.SectionData(name)
}

func TestSectionsAreReadOnceAndNotBeforeTheFirstLookup(t *testing.T) {
	r := &recorder{Source: memory{}}
	x, err := Open(r, binary.LittleEndian)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.asked) != 0 {
		t.Errorf("Open read %v", r.asked)
	}
	for range 2 {
		if got, err := x.Lookup(1); got != nil || err != nil {
			t.Errorf("Lookup without sections = %v, %v", got, err)
		}
	}
	slices.Sort(r.asked)
	if n := len(r.asked); n == 0 || len(slices.Compact(r.asked)) != n {
		t.Errorf("asked for %v, want each section once", r.asked)
	}
}

type failing struct{ err error }

func (f failing) SectionData(string) ([]byte, error) { return nil, f.err }

func TestLookupReportsTheErrorOfTheSourceEachTime(t *testing.T) {
	broken := errors.New("broken")
	x, err := Open(failing{broken}, binary.LittleEndian)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := x.Lookup(1); !errors.Is(err, broken) || !strings.Contains(err.Error(), ".debug_info") {
			t.Errorf("error %v, want the source's with the section's name", err)
		}
	}
}

func TestCacheKeepsToItsLimitAndAnswersStayTheSame(t *testing.T) {
	file := build(t, goProgram, "go", "build", "-o", "out", ".")
	ample, f := openELF(t, file)
	tight, _ := openELF(t, file)
	tight.cache.limit = 1 << 20
	places := instructions(t, f, 1001)
	for _, p := range places {
		want, err := ample.Lookup(p.addr)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tight.Lookup(p.addr)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%#x: %v after eviction, %v without", p.addr, got, want)
		}
		sum := 0
		for e := tight.cache.order.Front(); e != nil; e = e.Next() {
			sum += e.Value.(*unitData).cost
		}
		if sum != tight.cache.cost || len(tight.cache.units) != tight.cache.order.Len() {
			t.Fatalf("cache counts %d bytes in %d units, holds %d in %d",
				tight.cache.cost, len(tight.cache.units), sum, tight.cache.order.Len())
		}
		if tight.cache.cost > tight.cache.limit && tight.cache.order.Len() > 2 {
			t.Fatalf("%d bytes in %d units, limit %d", tight.cache.cost, tight.cache.order.Len(), tight.cache.limit)
		}
	}
	if n, all := tight.cache.order.Len(), ample.cache.order.Len(); n >= all {
		t.Errorf("%d units kept of %d, want fewer", n, all)
	}
}
