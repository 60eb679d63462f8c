package dwarfline

import (
	"debug/dwarf"
	"slices"
	"testing"
)

// nested has types in namespaces, classes in classes and functions with blocks.
var nested = map[string]string{"main.cc": `
namespace outer { namespace { struct Inner { struct Deep { int x; } d; int f(Deep q) const { return q.x + d.x; } }; }
enum Color { RED = -1, GREEN = 300 };
template <class T> __attribute__((noinline)) T twice(T v, Color c) { if (c == RED) { T w = v; { T z = w; return z + z; } } return v + v; }
}
int global;
int main(int argc, char **argv) {
	outer::Inner i = {{argc}}; outer::Inner::Deep d = {2};
	return i.f(d) + outer::twice<long>(argc, outer::GREEN) + outer::twice<short>(global, outer::RED);
}
`}

// standardTree is what debug/dwarf reads of a file: entries by offset, the
// offsets of their children, and the named types and namespaces around them.
type standardTree struct {
	entries  map[dwarf.Offset]*dwarf.Entry
	children map[dwarf.Offset][]dwarf.Offset
	paths    map[dwarf.Offset][]string
}

func readStandard(t *testing.T, data *dwarf.Data) standardTree {
	t.Helper()
	s := standardTree{map[dwarf.Offset]*dwarf.Entry{}, map[dwarf.Offset][]dwarf.Offset{}, map[dwarf.Offset][]string{}}
	var around []*dwarf.Entry
	for r := data.Reader(); ; {
		e, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			return s
		}
		if e.Tag == 0 {
			around = around[:len(around)-1]
			continue
		}
		s.entries[e.Offset] = e
		var path []string
		for _, a := range around {
			switch name, _ := a.Val(dwarf.AttrName).(string); {
			case a.Tag == dwarf.TagNamespace && name == "":
				path = append(path, "(anonymous namespace)")
			case a.Tag == dwarf.TagNamespace, a.Tag == dwarf.TagStructType, a.Tag == dwarf.TagEnumerationType:
				path = append(path, name)
			}
		}
		s.paths[e.Offset] = path
		if n := len(around); n > 0 {
			s.children[around[n-1].Offset] = append(s.children[around[n-1].Offset], e.Offset)
		}
		if e.Children {
			around = append(around, e)
		}
	}
}

// compareEntry compares an entry and all below it with the standard library's.
func compareEntry(t *testing.T, s *standardTree, e DIE) int {
	t.Helper()
	want := s.entries[dwarf.Offset(e.Offset)]
	if want == nil || want.Tag != e.Tag {
		t.Fatalf("entry at %#x: %v, want %+v", e.Offset, e.Tag, want)
	}
	for _, f := range want.Field {
		switch v := f.Val.(type) {
		case string:
			if got := e.Text(f.Attr); got != v {
				t.Errorf("%#x: %v is %q, want %q", e.Offset, f.Attr, got, v)
			}
		case dwarf.Offset:
			if got, ok := e.Ref(f.Attr); !ok || got.Offset != uint64(v) {
				t.Errorf("%#x: %v refers to %#x, %v, want %#x", e.Offset, f.Attr, got.Offset, ok, v)
			}
		case bool:
			if got, ok := e.Uint(f.Attr); !ok || (got != 0) != v {
				t.Errorf("%#x: %v is %v, %v, want %v", e.Offset, f.Attr, got, ok, v)
			}
		case []byte:
			if got, ok := e.Expr(f.Attr); !ok || !slices.Equal(got, v) {
				t.Errorf("%#x: %v is %x, %v, want %x", e.Offset, f.Attr, got, ok, v)
			}
		case int64:
			if got, ok := e.Uint(f.Attr); f.Class == dwarf.ClassConstant && (!ok || uint32(got) != uint32(v)) {
				t.Errorf("%#x: %v is %v, %v, want %v", e.Offset, f.Attr, got, ok, v)
			}
		}
		if !e.Has(f.Attr) {
			t.Errorf("%#x: no %v", e.Offset, f.Attr)
		}
	}
	if got := e.Path(); !slices.Equal(got, s.paths[want.Offset]) {
		t.Errorf("%#x: in %q, want %q", e.Offset, got, s.paths[want.Offset])
	}
	n := 1
	var children []dwarf.Offset
	e.Children(func(c DIE) bool {
		children = append(children, dwarf.Offset(c.Offset))
		n += compareEntry(t, s, c)
		return true
	})
	if !slices.Equal(children, s.children[want.Offset]) {
		t.Errorf("%#x: children %#x, want %#x", e.Offset, children, s.children[want.Offset])
	}
	return n
}

func TestEntriesAreThoseOfTheStandardLibrary(t *testing.T) {
	for _, flags := range [][]string{{"-gdwarf-4", "-O0"}, {"-gdwarf-5", "-O0"}, {"-gdwarf-4", "-O2"}, {"-gdwarf-5", "-O2"}} {
		x, f := openELF(t, build(t, nested, "g++", append(flags, "-o", "out", "main.cc")...))
		data, err := f.DWARF()
		if err != nil {
			t.Fatal(err)
		}
		s := readStandard(t, data)
		compared := 0
		for _, name := range []string{"main", "_ZN5outer5twiceIlEET_S1_NS_5ColorE", "_ZN5outer5twiceIsEET_S1_NS_5ColorE"} {
			addr := label(t, f, name)
			e, ok, err := x.Subprogram(addr)
			if err != nil || !ok {
				t.Fatalf("%v %s: %v, %v", flags, name, ok, err)
			}
			compared += compareEntry(t, &s, e)
			for _, attr := range []dwarf.Attr{dwarf.AttrType, dwarf.AttrSpecification, dwarf.AttrAbstractOrigin} {
				if to, ok := e.Ref(attr); ok {
					compared += compareEntry(t, &s, to)
				}
			}
			if _, ok, _ := x.Subprogram(addr + 1); ok {
				t.Errorf("a function begins within %s", name)
			}
			if e.AddrSize() != 8 || e.Producer() == "" || e.Language() == 0 {
				t.Errorf("%d, %q, %#x", e.AddrSize(), e.Producer(), e.Language())
			}
		}
		if compared < 20 {
			t.Errorf("%v: only %d entries", flags, compared)
		}
	}
}
