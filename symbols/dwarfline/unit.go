package dwarfline

import (
	"debug/dwarf"
	"fmt"
)

// maxName is where longer names and paths are cut, in bytes. Real C++ names of
// some 10,000 bytes exist.
const maxName = 1 << 16

// unit is the header of one unit in .debug_info (DWARF 5 section 7.5.1).
type unit struct {
	encoding
	start   uint64 // offset of the header
	entries uint64 // offset of the root entry
	end     uint64 // offset behind the last entry
	abbrevs uint64 // offset into .debug_abbrev

	signature uint64 // of a type unit, or that a skeleton and its split unit share
	typeEntry uint64 // offset of the type it is about, 0 in other units
}

// root is what the root entry of a unit says.
type root struct {
	low, high  uint64
	ranges     value // form 0 when absent
	line       uint64
	hasLine    bool
	dir        string // of compilation
	addrBase   uint64
	strBase    uint64
	rangesBase uint64
	locBase    uint64
	language   uint64
	producer   value

	splitName   value // of a skeleton: the file of the split unit
	splitID     uint64
	splitRanges uint64 // base of the split unit's range lists, before DWARF 5
}

// readUnits walks the unit headers of .debug_info. What comes behind a header
// that makes no sense can't be found and is left out; units of a version or
// kind that we do not read are stepped over.
func readUnits(s *sections) []unit {
	const (
		typeUnit      = 2 // DW_UT_type
		skeleton      = 4
		splitCompile  = 5
		splitTypeUnit = 6
	)
	var units []unit
	for c := at(s.info, 0, s.order); c.left() > 0; {
		u := unit{start: c.off}
		length, size := c.unitLength()
		if c.err != nil || length > c.left() {
			break
		}
		u.offsetSize = uint8(size)
		u.end = c.off + length
		h := at(s.info[:u.end], c.off, s.order)
		c.off = u.end

		u.version = h.u16()
		if u.version < 2 || u.version > 5 {
			continue
		}
		kind := uint8(1)
		if u.version == 5 {
			kind = h.u8()
			u.addrSize = h.u8()
			u.abbrevs = h.uint(size)
		} else {
			u.abbrevs = h.uint(size)
			u.addrSize = h.u8()
		}
		switch kind {
		case skeleton, splitCompile:
			u.signature = h.uint(8)
		case typeUnit, splitTypeUnit:
			u.signature = h.uint(8)
			u.typeEntry = u.start + min(h.uint(size), length)
		}
		switch u.addrSize {
		case 1, 2, 4, 8:
		default:
			continue
		}
		u.entries = h.off
		if h.err == nil {
			units = append(units, u)
		}
	}
	return units
}

// readRoot reads the root entry of u. It returns the bytes of .debug_abbrev
// that it took to understand it.
func (x *Index) readRoot(u *unit) (root, int, error) {
	var r root
	c := at(x.s.info[:u.end], u.entries, x.s.order)
	code := c.uleb()
	abbrevs, err := readAbbrevs(at(x.s.abbrev, u.abbrevs, x.s.order), u.encoding, code)
	if err != nil {
		return r, maxAbbrevs, fmt.Errorf("unit at %#x: %w", u.start, err)
	}
	a := abbrevs.get(code)
	if a == nil {
		return r, abbrevs.bytes, fmt.Errorf("unit at %#x: no abbreviation %d", u.start, code)
	}
	// The bases may come behind the attributes that need them.
	var low, high, dir value
	if x.skeleton != nil {
		r.join(x.skeleton, u)
	}
	for i := range a.attrs {
		v := u.attr(&c, &a.attrs[i])
		switch a.attrs[i].attr {
		case dwarf.AttrLowpc:
			low = v
		case dwarf.AttrHighpc:
			high = v
		case dwarf.AttrRanges:
			r.ranges = v
		case dwarf.AttrStmtList:
			r.line, r.hasLine = v.num, true
		case dwarf.AttrCompDir:
			dir = v
		case dwarf.AttrAddrBase, attrGNUAddrBase:
			r.addrBase = v.num
		case dwarf.AttrStrOffsetsBase:
			r.strBase = v.num
		case dwarf.AttrRnglistsBase:
			r.rangesBase = v.num
		case dwarf.AttrLoclistsBase:
			r.locBase = v.num
		case dwarf.AttrLanguage:
			r.language = v.num
		case dwarf.AttrProducer:
			r.producer = v
		case dwarf.AttrDwoName, attrGNUDwoName:
			r.splitName = v
		case attrGNUDwoID:
			r.splitID = v.num
		case attrGNURangesBase:
			r.splitRanges = v.num
		}
	}
	if c.err != nil {
		return r, abbrevs.bytes, fmt.Errorf("read root entry of unit at %#x: %w", u.start, c.err)
	}
	r.low, r.high = x.pcRange(u, &r, low, high)
	r.dir = x.text(u, &r, dir)
	if x.skeleton != nil {
		r.hasLine = false // the skeleton's table has the lines
		r.low, r.dir = x.skeleton.low, x.skeleton.dir
	}
	return r, abbrevs.bytes, nil
}

// attrGNUAddrBase is DW_AT_GNU_addr_base of DWARF 4 skeleton units.
const attrGNUAddrBase dwarf.Attr = 0x2133

// attr reads the value of one attribute.
func (u *unit) attr(c *cursor, s *attrSpec) value {
	switch {
	case s.form == formImplicitConst:
		return value{form: formSdata, num: uint64(s.implicit)}
	case s.size > 0 && s.size <= 8:
		return value{form: s.form, num: c.uint(s.size)}
	}
	return u.read(c, s.form)
}

// text returns the string that v stands for, cut to maxName bytes; "" when it
// is in another file or out of bounds.
func (x *Index) text(u *unit, r *root, v value) string {
	return string(x.textBytes(u, r, v))
}

// textBytes is text in place.
func (x *Index) textBytes(u *unit, r *root, v value) []byte {
	b := v.str
	switch v.form {
	case formString:
	case formStrp:
		c := at(x.s.str, v.num, x.s.order)
		b = c.cstring()
	case formLineStrp:
		c := at(x.s.lineStr, v.num, x.s.order)
		b = c.cstring()
	case formStrx, formStrx1, formStrx2, formStrx3, formStrx4, formGNUStrIndex:
		c := at(x.s.strOffsets, tableOffset(r.strBase, v.num, u.offsetSize), x.s.order)
		off := c.uint(int(u.offsetSize))
		if c.err != nil {
			return nil
		}
		c = at(x.s.str, off, x.s.order)
		b = c.cstring()
	default:
		return nil
	}
	return b[:min(len(b), maxName)]
}

// tableOffset is base + index*size, or an offset beyond any section when that
// does not fit.
func tableOffset(base, index uint64, size uint8) uint64 {
	const most = 1 << 60
	if index > most/16 || base > most {
		return 1 << 63
	}
	return base + index*uint64(size)
}

// reference returns the offset in .debug_info that v refers to.
func (u *unit) reference(v value) (uint64, bool) {
	switch v.form {
	case formRef1, formRef2, formRef4, formRef8, formRefUdata:
		if v.num >= u.end-u.start {
			return 0, false
		}
		return u.start + v.num, true
	case formRefAddr:
		return v.num, true
	}
	return 0, false
}
