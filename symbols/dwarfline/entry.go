package dwarfline

import (
	"debug/dwarf"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

// attrMIPSLinkageName is DW_AT_MIPS_linkage_name, used before DWARF 4.
const attrMIPSLinkageName dwarf.Attr = 0x2007

// noFile is a file number that no line table has.
const noFile = 1<<31 - 1

// entry has the attributes of a DW_TAG_subprogram or DW_TAG_inlined_subroutine that we need,
// unresolved. The form of an absent value is 0.
type entry struct {
	low, high, ranges  value
	entry              value // DW_AT_entry_pc
	name, linkage      value
	origin             value // DW_AT_abstract_origin, else DW_AT_specification
	declLine           uint64
	callFile, callLine uint64 // noFile and 0 if absent
}

func (u *unit) readEntry(c *bytecursor.Cursor, a *abbrev) entry {
	e := entry{callFile: noFile}
	for i := range a.attrs {
		v := u.attr(c, &a.attrs[i])
		switch a.attrs[i].attr {
		case dwarf.AttrLowpc:
			e.low = v
		case dwarf.AttrHighpc:
			e.high = v
		case dwarf.AttrRanges:
			e.ranges = v
		case dwarf.AttrEntrypc:
			e.entry = v
		case dwarf.AttrName:
			e.name = v
		case dwarf.AttrLinkageName, attrMIPSLinkageName:
			e.linkage = v
		case dwarf.AttrAbstractOrigin:
			e.origin = v
		case dwarf.AttrSpecification:
			if e.origin.form == 0 {
				e.origin = v
			}
		case dwarf.AttrDeclLine:
			e.declLine = v.num
		case dwarf.AttrCallFile:
			e.callFile = v.num
		case dwarf.AttrCallLine:
			e.callLine = v.num
		}
	}
	return e
}

func (u *unit) skipEntry(c *bytecursor.Cursor, a *abbrev) {
	if a.size >= 0 {
		c.Skip(uint64(a.size))
		return
	}
	for i := range a.attrs {
		u.attr(c, &a.attrs[i])
	}
}

// readSibling skips the attributes at c and returns the offset of the entry after the children,
// or 0 if there is no such attribute.
func (u *unit) readSibling(c *bytecursor.Cursor, a *abbrev) uint64 {
	var sibling uint64
	for i := range a.attrs {
		v := u.attr(c, &a.attrs[i])
		if a.attrs[i].attr == dwarf.AttrSibling {
			sibling, _ = u.reference(v)
		}
	}
	return sibling
}

// maxOrigins is the maximum number of entries visited for one name: an inlined copy, its
// abstract instance, the member's declaration, and the same again for copies made by link-time
// optimization.
const maxOrigins = 16

// describe returns the name and the line of the function whose entry is at off, in any unit.
// The name is the linkage name if there is one, else the plain name, or "" if neither can be
// found.
func (x *Index) describe(off uint64) (name string, line int) {
	for range maxOrigins {
		d, ok := x.unitAt(off)
		if !ok {
			break
		}
		c := bytecursor.New(x.s.info[:d.unit.end], off, x.s.order)
		a := d.abbrevs.get(c.ULEB())
		if a == nil {
			break
		}
		e := d.unit.readEntry(&c, a)
		if c.Err() != nil {
			break
		}
		if line == 0 {
			line = int(clip(e.declLine))
		}
		if linkage := x.text(d.unit, &d.root, e.linkage); linkage != "" {
			return linkage, line
		}
		if name == "" {
			name = x.text(d.unit, &d.root, e.name)
		}
		if off, ok = d.unit.reference(e.origin); !ok {
			break
		}
	}
	return name, line
}
