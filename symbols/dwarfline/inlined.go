package dwarfline

import (
	"cmp"
	"debug/dwarf"
	"slices"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

const maxInlined = 1 << 16

// Inlined returns the entry points of all inlined copies of the functions whose name, as in
// Line, matches. It reads the functions of all units, which takes about a second for each 100
// MB of debug information. Copies in damaged parts are missing.
func (x *Index) Inlined(match func(name string) bool) ([]Place, error) {
	if err := x.load(); err != nil {
		return nil, err
	}
	var places []Place
	for i := range x.units {
		whole, d, err := x.whole(int32(i))
		if err != nil || d == nil {
			continue
		}
		t, _ := whole.readTree(d.unit, &d.root, d.abbrevs) // on an error, use what could be read
		wanted := map[uint64]bool{}                        // by the offset of the abstract instance
		for fn := range t.functions {
			f := &t.functions[fn]
			if f.parent < 0 {
				continue
			}
			c := bytecursor.New(whole.s.info[:d.unit.end], f.entry, whole.s.order)
			a := d.abbrevs.get(c.ULEB())
			if a == nil {
				continue
			}
			e := d.unit.readEntry(&c, a)
			origin, ok := d.unit.reference(e.origin)
			is, known := wanted[origin]
			if !ok || known && !is {
				continue
			}
			name, _ := whole.describe(f.entry)
			if !known {
				is = match(name)
				wanted[origin] = is
			}
			if addr := whole.entryOf(d, f); is && addr != 0 && len(places) < maxInlined {
				places = append(places, Place{Addr: addr, Function: name, Line: int(f.callLine)})
			}
		}
	}
	slices.SortFunc(places, func(a, b Place) int { return cmp.Compare(a.Addr, b.Addr) })
	return slices.CompactFunc(places, func(a, b Place) bool { return a.Addr == b.Addr }), nil
}

// IsInlined reports whether e is the out-of-line copy of a function that was also inlined somewhere.
func (e DIE) IsInlined() bool {
	const inlined, declaredInlined = 1, 3 // DW_INL_inlined, DW_INL_declared_inlined
	abstract, ok := e.Ref(dwarf.AttrAbstractOrigin)
	if !ok {
		return false
	}
	how, _ := abstract.Uint(dwarf.AttrInline)
	return how == inlined || how == declaredInlined
}
