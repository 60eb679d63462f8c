package dwarfparam

import (
	"debug/dwarf"
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

// Operations of DWARF expressions (DWARF 5 section 7.7.1).
const (
	opDeref         = 0x06
	opConstu        = 0x10
	opConsts        = 0x11
	opPlus          = 0x22
	opPlusUconst    = 0x23
	opLit0          = 0x30
	opLit31         = 0x4f
	opReg0          = 0x50
	opReg31         = 0x6f
	opBreg0         = 0x70
	opBreg31        = 0x8f
	opRegx          = 0x90
	opFbreg         = 0x91
	opBregx         = 0x92
	opPiece         = 0x93
	opNop           = 0x96
	opCallFrameCFA  = 0x9c
	opImplicit      = 0x9e
	opStackValue    = 0x9f
	opEntryValue    = 0xa3
	opGNUEntryValue = 0xf3
)

// Reasons why a described location is not valid at the entry.
const (
	whyUnknown = "the compiler has not recorded where it is"
	whySaved   = "it is described by where the function saves it"
	whyRemoved = "the compiler removed it"
	whyKnown   = "the compiler knows its value and does not pass it"
	whyOther   = "its description is more than a place"
)

// description is the result of evaluating a location expression.
type description struct {
	placement
	byReference bool // the function saves the value's address, not the value
}

// describe evaluates the location of a parameter at the entry.
func (r *reader) describe(f *formal) description {
	e := f.concrete
	if e.Has(dwarf.AttrConstValue) {
		return description{placement: nowhere(whyKnown)}
	}
	expr, everywhere, err := e.Location(dwarf.AttrLocation, r.entry)
	switch {
	case err != nil:
		return description{placement: nowhere(err.Error())}
	case len(expr) == 0 && !e.Has(dwarf.AttrLocation):
		return description{placement: nowhere(whyRemoved)}
	case len(expr) == 0:
		return description{placement: nowhere(whyUnknown)}
	}
	m := machine{reader: r, everywhere: everywhere, Cursor: bytecursor.New(expr, 0, binary.LittleEndian)}
	return m.run(f.typ)
}
