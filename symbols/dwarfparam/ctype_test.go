package dwarfparam

import "testing"

// Damaged files may say that a struct is a part of itself, or has more parts than memory.
func TestTypesAreNoPartsOfThemselves(t *testing.T) {
	a, b := &Type{Kind: Struct, Size: 8}, &Type{Kind: Struct, Size: 8}
	array := &Type{Kind: Array, Len: 2}
	array.Elem = array
	a.Members = []Member{{Name: "next", Type: &Type{Kind: Pointer, Elem: a}}, {Name: "b", Type: b}, {Name: "list", Type: array}}
	b.Members = []Member{{Name: "a", Type: a}, {Name: "n", Type: &Type{Kind: Signed, Size: 4}}}
	wide := &Type{Kind: Signed, Size: 4}
	for range 20 {
		wide = &Type{Kind: Struct, Members: []Member{{Type: wide}, {Type: wide}, {Type: wide}}}
	}
	g := newGraph(nil)
	for i, from := range []*Type{a, b, array, wide} {
		g.known[uint64(i)] = from
	}
	for _, from := range g.known {
		g.weigh(from)
	}
	parts := 0
	var walk func(*Type, int)
	walk = func(t *Type, depth int) {
		if parts++; parts > 4*maxTypeParts || depth > 100 {
			return
		}
		if t.Kind == Array {
			walk(t.Elem, depth+1)
		}
		for _, m := range t.Members {
			walk(m.Type, depth+1)
		}
	}
	for _, from := range []*Type{a, b, array, wide} {
		walk(from, 0)
	}
	if parts > 4*maxTypeParts {
		t.Errorf("%d parts and more", parts)
	}
	if len(a.Members) == 0 || a.Members[0].Name != "next" || len(b.Members) == 0 || b.Members[len(b.Members)-1].Name != "n" {
		t.Errorf("members that do no harm are gone: %v, %v", a.Members, b.Members)
	}
}
