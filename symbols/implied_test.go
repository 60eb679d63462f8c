package symbols

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// cpythons are shared libraries of CPython that have their symbols.
func cpythons(t *testing.T) (found []string) {
	t.Helper()
	home, _ := os.UserHomeDir()
	libs, _ := filepath.Glob(filepath.Join(home, ".pyenv/versions/3.*/lib/libpython3.*.so.1.0"))
	for _, lib := range libs {
		f, err := elf.Open(lib)
		if err != nil {
			t.Fatal(err)
		}
		if f.Section(".symtab") != nil {
			found = append(found, lib)
		}
		f.Close()
	}
	if len(found) == 0 {
		t.Skip("no CPython with a symbol table is installed")
	}
	return found
}

// The functions of a stripped CPython begin and end where its symbol table had them, and
// those that are known by sight have their names.
func TestPeerImpliedFunctionsOfAStrippedCPythonAreThoseOfItsSymbols(t *testing.T) {
	known := map[string]string{
		"unicode_upper": "str.upper", "dict_get": "dict.get", "builtin_len": "builtins.len", "os_getpid": "posix.getpid",
		"list_dealloc": "list.tp_dealloc", "list_item": "list.sq_item", "unicode_mod": "str.nb_remainder", "object_new": "object.tp_new",
		"frame_getlineno": "frame.f_lineno.get", "slot_tp_init": "class.tp_init", "slot_nb_add": "class.nb_add",
	}
	for _, lib := range cpythons(t) {
		t.Run(filepath.Base(lib), func(t *testing.T) {
			stripped := filepath.Join(t.TempDir(), "stripped.so")
			run(t, "strip", "-o", stripped, lib)
			f, whole := openFile(t, stripped, Options{}), openFile(t, lib, Options{})
			reference, err := elf.Open(lib)
			if err != nil {
				t.Fatal(err)
			}
			defer reference.Close()
			all, err := reference.Symbols()
			if err != nil {
				t.Fatal(err)
			}
			named, met := 0, 0
			for _, s := range all {
				if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Size == 0 {
					continue
				}
				offset := offsetOf(reference, s.Value)
				name := known[s.Name]
				if name != "" {
					met++
				}
				if _, ok := f.Lookup(offset); ok {
					continue
				}
				first, ok := f.Implied(offset)
				if name != "" && first.Name != name {
					t.Errorf("%s is %q, want %s", s.Name, first.Name, name)
				}
				if last, _ := f.Implied(offset + s.Size - 1); last != first {
					t.Errorf("%s begins in %+v and ends in %+v", s.Name, first, last)
				}
				if !ok {
					continue
				}
				named++
				if first.Start != offset || first.Size != s.Size || !strings.Contains(first.Name, ".") {
					t.Errorf("%s of %#x bytes at %#x is %+v", s.Name, s.Size, offset, first)
				}
				if has, ok := whole.Implied(offset); ok {
					t.Errorf("%s has a symbol, and is %s", s.Name, has.Name)
				}
			}
			if t.Logf("%d functions", named); named < 1900 || met < len(known) {
				t.Errorf("%d functions have names, %d of %d are met", named, met, len(known))
			}
		})
	}
}

// A program of C has no such tables.
func TestFilesThatAreNotOfCPythonImplyNothing(t *testing.T) {
	f := openFile(t, buildC(t, "-s"), Options{})
	for offset := uint64(0); offset < 0x4000; offset += 16 {
		if s, ok := f.Implied(offset); ok {
			t.Errorf("%#x is %s", offset, s.Name)
		}
	}
}
