package dwarfparam

import (
	"debug/dwarf"

	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// Result returns the Type, Kind and Size of the result of the function whose first instruction
// is at vaddr. If a general register has the result, Location is the first register of the
// convention. Otherwise Location.Why says why not. The type of a function without a result is
// void. ok is false if the result is unknown, or if the language is not C or C++.
func Result(x *dwarfline.Index, vaddr uint64, opts Options) (Param, bool) {
	e, ok, err := x.Subprogram(vaddr)
	if err != nil || !ok {
		return Param{}, false
	}
	r := newReader(e, vaddr, opts)
	if !r.lang.isC() {
		return Param{}, false
	}
	t := typeOf(e)
	if t.Tag == 0 {
		return Param{Type: "void", Location: Location{Why: "it returns nothing (void)"}}, true
	}
	known := r.resolve(t, 0)
	p := Param{Type: r.text(t), Kind: known.kind, Size: int(min(known.size, 1<<30)), Location: Location{Where: Register}}
	floats := false // the first register is a floating-point register
	if classes, ok := classify(known); r.architecture() == arch.AMD64 {
		floats = ok && classes[0] == sseClass
	} else {
		_, floats = homogeneous(known)
	}
	switch {
	case plain(t).Tag == dwarf.TagUnspecifiedType || known.class == classUnknown:
		return Param{}, false
	case known.class == classFloat || known.class == classLongDouble || known.class == classVector || known.class == classComplex:
		p.Location = Location{Why: "it returns " + p.Type + " in a floating-point register, which probes can't read"}
	case known.class == classAggregate && !known.byReference && floats:
		p.Location = Location{Why: "it returns " + p.Type + ", which begins in a floating-point register, and probes can't read these"}
	}
	return p, true
}
