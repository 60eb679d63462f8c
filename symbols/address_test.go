package symbols

import (
	"debug/elf"
	"errors"
	"slices"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

const variablesText = `char letter = 'x';
short pair[2] = {1, 2};
long zero;
static int hidden = 7;
__thread int own;
int *address(void) { hidden++; return &hidden; }
int main(void) { return own + *address(); }
`

const otherVariablesText = `static int hidden = 8;
static int twice = 1;
int *other(void) { hidden++; twice++; return twice ? &hidden : &twice; }
`

const moreVariablesText = `static int twice = 2;
int *more(void) { return &twice; }
`

func TestVariablesHaveTheirAddressesAndSizes(t *testing.T) {
	for _, flag := range []string{"-pie", "-no-pie", "-static"} {
		path := compiled.Program(t, map[string]string{"variables.c": variablesText, "more.c": moreVariablesText},
			"gcc", "-O0", flag, "-o", "variables", "variables.c", "more.c")
		file, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		all, err := file.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		f := openFile(t, path, Options{})
		for name, size := range map[string]uint64{"letter": 1, "pair": 4, "zero": 8, "hidden": 4, "twice": 4, "main": 0} {
			i := slices.IndexFunc(all, func(s elf.Symbol) bool { return s.Name == name })
			addr, got, err := f.Address(name)
			if err != nil || addr != all[i].Value || size > 0 && got != size {
				t.Errorf("%s: %s is at %#x with %d bytes, %v; want %#x with %d", flag, name, addr, got, err, all[i].Value, size)
			}
			if size == 0 { // a function
				continue
			}
			if found, start, ok := f.Variable(addr + size - 1); !ok || found != name || start != addr {
				t.Errorf("%s: the last byte of %s belongs to %q at %#x, %v", flag, name, found, start, ok)
			}
		}
		if name, _, ok := f.Variable(1 << 60); ok {
			t.Errorf("%s: %s is outside of the file", flag, name)
		}
		if _, _, err := f.Address("own"); !errors.Is(err, errThreads) {
			t.Errorf("%s: own: %v", flag, err)
		}
		if _, _, err := f.Address("nosuch"); !errors.Is(err, ErrNoSymbol) {
			t.Errorf("%s: nosuch: %v", flag, err)
		}
		file.Close()
	}
	path := compiled.Program(t, map[string]string{"variables.c": variablesText, "other.c": otherVariablesText, "more.c": moreVariablesText},
		"gcc", "-O0", "-o", "variables", "variables.c", "other.c", "more.c")
	if _, _, err := openFile(t, path, Options{}).Address("hidden"); !errors.Is(err, errSeveral) {
		t.Errorf("hidden of two files: %v", err)
	}
}
