package dwarfline

import "debug/dwarf"

// attrMIPSLinkageName is DW_AT_MIPS_linkage_name, of before DWARF 4.
const attrMIPSLinkageName dwarf.Attr = 0x2007

// noFile is a file number that no line table has.
const noFile = 1<<31 - 1

// entry is what is of use to us in a DW_TAG_subprogram or
// DW_TAG_inlined_subroutine, unresolved. A value's form is 0 when absent.
type entry struct {
	low, high, ranges  value
	entry              value // DW_AT_entry_pc
	name, linkage      value
	origin             value // DW_AT_abstract_origin, else DW_AT_specification
	declLine           uint64
	callFile, callLine uint64 // noFile and 0 when absent
}

// readEntry reads the attributes that c stands at.
func (u *unit) readEntry(c *cursor, a *abbrev) entry {
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

// skipEntry steps over the attributes that c stands at.
func (u *unit) skipEntry(c *cursor, a *abbrev) {
	if a.size >= 0 {
		c.skip(uint64(a.size))
		return
	}
	for i := range a.attrs {
		u.attr(c, &a.attrs[i])
	}
}

// readSibling steps over the attributes that c stands at and returns the
// offset of the entry behind the children, 0 when it is not told.
func (u *unit) readSibling(c *cursor, a *abbrev) uint64 {
	var sibling uint64
	for i := range a.attrs {
		v := u.attr(c, &a.attrs[i])
		if a.attrs[i].attr == dwarf.AttrSibling {
			sibling, _ = u.reference(v)
		}
	}
	return sibling
}

// maxOrigins is the most entries looked at for one name: an inlined copy, its
// abstract instance, the member's declaration, and the same once more for
// copies made by link-time optimization.
const maxOrigins = 16

// describe returns the name and the line of the function whose entry is at
// off, in this or (with link-time optimization) another unit: the linkage name
// if there is one, else the name; "" when neither can be found.
func (x *Index) describe(off uint64) (name string, line int) {
	for range maxOrigins {
		d, ok := x.unitAt(off)
		if !ok {
			break
		}
		c := at(x.s.info[:d.unit.end], off, x.s.order)
		a := d.abbrevs.get(c.uleb())
		if a == nil {
			break
		}
		e := d.unit.readEntry(&c, a)
		if c.err != nil {
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
