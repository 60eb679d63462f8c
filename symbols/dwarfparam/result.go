package dwarfparam

import (
	"debug/dwarf"
	"debug/elf"

	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// Result returns what the function whose first instruction is at vaddr returns: its Type, Kind and Size.
// Its Location says why no general register has the value; it is a Register, the first one of the
// convention, if one has. A function without a result has the type void. It is false for functions whose
// result is unknown, and for languages other than C and C++.
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
	floats := false // the first register is one for floating-point numbers
	if classes, ok := classify(known); r.Machine == elf.EM_X86_64 {
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
