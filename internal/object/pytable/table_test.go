package pytable

import (
	"bytes"
	"debug/elf"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
	"github.com/ringtap/ringtap/internal/testkit/interptest"
)

// The functions of testdata/module.c, by their own names.
func TestFunctionsHaveTheNamesOfTheTables(t *testing.T) {
	want := map[string]string{
		"f_dealloc": "list.tp_dealloc", "f_item": "list.sq_item", "f_append": "list.append", "f_x_get": "list.x.get", "f_x_set": "list.x.set",
		"f_sqrt": "math.sqrt", "f_match": "re.Pattern.match", "f_pattern_new": "re.Pattern.tp_new",
		"f_shared":  "base.tp_dealloc",            // derived has it too
		"f_getitem": "list.__getitem__",           // and mp_subscript
		"f_twice":   "other.tp_repr|base.tp_repr", // neither derives from the other
		"f_many":    "other.tp_str|list.tp_str|*", // and sq_contains
		"f_free":    "math.m_free|list.tp_free",
	}
	for _, gcc := range []string{"gcc", "aarch64-linux-gnu-gcc"} {
		for _, separate := range []string{"separate-code", "noseparate-code"} {
			t.Run(gcc+" "+separate, func(t *testing.T) {
				path := compiled.Program(t, compiled.Sources(t, "testdata/module.c"),
					gcc, "-shared", "-nostdlib", "-fPIC", "-Os", "-s", "-Wl,-z,"+separate, "-o", "module.elf", "module.c")
				names, err := Functions(interptest.Module(t, path).Image, Type{})
				if err != nil {
					t.Fatal(err)
				}
				got := map[string]string{}
				for _, s := range exported(t, path) {
					if name := names[s.Value]; name != "" {
						got[s.Name] = name
						delete(names, s.Value)
					}
				}
				if !maps.Equal(got, want) || len(names) > 0 {
					t.Errorf("%v\nwant %v\nand %v has no symbol", got, want, names)
				}
			})
		}
	}
}

func TestMoreTablesThanAnyFileHasNameNothing(t *testing.T) {
	for name, tables := range map[string]string{
		"a thousand types with the same methods": `
static struct method many[] = {[0 ... 3999] = {"a_long_name_of_a_method", f_append, 1}, {0}};
struct type types[1000] = {[0 ... 999] = {1, .name = "name", .basic = 16, .methods = many}};`,
		"slots that never end": `
static struct slot many[] = {
	{1, f_append}, {2, f_append}, {3, f_append}, {4, f_append}, {5, f_append}, {6, f_append}, {7, f_append}, {8, f_append},
	{9, f_append}, {10, f_append}, {11, f_append}, {12, f_append}, {13, f_append}, {14, f_append}, {15, f_append}, {15, 0}};
struct spec specs[300000] = {[0 ... 299999] = {"name", 16, 0, 0, many}};`,
	} {
		t.Run(name, func(t *testing.T) {
			source := compiled.Sources(t, "testdata/module.c")["module.c"] + tables
			path := compiled.Program(t, map[string]string{"many.c": source}, "gcc", "-shared", "-nostdlib", "-fPIC", "-s", "-o", "many.elf", "many.c")
			if names, err := Functions(interptest.Module(t, path).Image, Type{}); !errors.Is(err, errTooMany) || len(names) > 0 {
				t.Errorf("%d names, %v", len(names), err)
			}
		})
	}
}

// Whatever the bytes are, there is no panic, and a name is of code.
func FuzzFunctions(f *testing.F) {
	fuzzing.Bound(f)
	module, err := os.ReadFile("testdata/module.elf")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(module, uint64(0), uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, addr, size uint64) {
		m, err := elfimage.New(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		names, _ := Functions(m, Type{Addr: addr, Size: size})
		for addr, name := range names {
			if !m.Executable(addr) || len(name) > 4*maxText || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r > '~' }) {
				t.Fatalf("%#x is %q", addr, name)
			}
		}
	})
}

// exported has debug/elf read the dynamic symbols that are in the file.
func exported(t testing.TB, path string) (defined []elf.Symbol) {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all, err := file.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Section != elf.SHN_UNDEF && s.Name != "" {
			defined = append(defined, s)
		}
	}
	return defined
}
