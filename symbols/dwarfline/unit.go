package dwarfline

import (
	"debug/dwarf"
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

// maxName is the maximum length of names and paths, in bytes; longer ones are cut. Real C++
// names have up to some 10,000 bytes.
const maxName = 1 << 16

// unit is the header of one unit in .debug_info (DWARF 5 section 7.5.1).
type unit struct {
	encoding
	start   uint64 // offset of the header
	entries uint64 // offset of the root entry
	end     uint64 // offset after the last entry
	abbrevs uint64 // offset into .debug_abbrev

	signature uint64 // of a type unit; or id of a skeleton and its split unit
	typeEntry uint64 // offset of the type in a type unit, else 0
}

// root has the attributes of a unit's root entry.
type root struct {
	low, high  uint64
	ranges     value // form 0 if absent
	line       uint64
	hasLine    bool
	dir        string // compilation directory
	addrBase   uint64
	strBase    uint64
	rangesBase uint64
	locBase    uint64
	language   uint64
	producer   value

	splitName   value // in a skeleton: the file of the split unit
	splitID     uint64
	splitRanges uint64 // base of the split unit's range lists, before DWARF 5
}

// readUnits walks the unit headers of .debug_info. It stops at a malformed header, since the
// next one cannot be found. Units of an unsupported version or kind are skipped.
func readUnits(s *sections) []unit {
	const (
		typeUnit      = 2 // DW_UT_type
		skeleton      = 4
		splitCompile  = 5
		splitTypeUnit = 6
	)
	var units []unit
	for c := bytecursor.New(s.info, 0, s.order); c.Left() > 0; {
		u := unit{start: c.Offset()}
		length, size := unitLength(&c)
		if c.Err() != nil || length > c.Left() {
			break
		}
		u.offsetSize = uint8(size)
		u.end = c.Offset() + length
		h := bytecursor.New(s.info[:u.end], c.Offset(), s.order)
		c.Seek(u.end)

		u.version = h.U16()
		if u.version < 2 || u.version > 5 {
			continue
		}
		kind := uint8(1)
		if u.version == 5 {
			kind = h.U8()
			u.addrSize = h.U8()
			u.abbrevs = h.Uint(size)
		} else {
			u.abbrevs = h.Uint(size)
			u.addrSize = h.U8()
		}
		switch kind {
		case skeleton, splitCompile:
			u.signature = h.Uint(8)
		case typeUnit, splitTypeUnit:
			u.signature = h.Uint(8)
			u.typeEntry = u.start + min(h.Uint(size), length)
		}
		switch u.addrSize {
		case 1, 2, 4, 8:
		default:
			continue
		}
		u.entries = h.Offset()
		if h.Err() == nil {
			units = append(units, u)
		}
	}
	return units
}

// readRoot reads the root entry of u. It also returns the number of bytes of .debug_abbrev that
// it read.
func (x *Index) readRoot(u *unit) (root, int, error) {
	var r root
	c := bytecursor.New(x.s.info[:u.end], u.entries, x.s.order)
	code := c.ULEB()
	abbrevs, err := readAbbrevs(bytecursor.New(x.s.abbrev, u.abbrevs, x.s.order), u.encoding, code)
	if err != nil {
		return r, maxAbbrevs, fmt.Errorf("unit at %#x: %w", u.start, err)
	}
	a := abbrevs.get(code)
	if a == nil {
		return r, abbrevs.bytes, fmt.Errorf("unit at %#x: no abbreviation %d", u.start, code)
	}
	// The bases may come after the attributes that need them.
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
	if c.Err() != nil {
		return r, abbrevs.bytes, fmt.Errorf("read root entry of unit at %#x: %w", u.start, c.Err())
	}
	r.low, r.high = x.pcRange(u, &r, low, high)
	r.dir = x.text(u, &r, dir)
	if x.skeleton != nil {
		r.hasLine = false // the line table of the skeleton is used
		r.low, r.dir = x.skeleton.low, x.skeleton.dir
	}
	return r, abbrevs.bytes, nil
}

// attrGNUAddrBase is DW_AT_GNU_addr_base of DWARF 4 skeleton units.
const attrGNUAddrBase dwarf.Attr = 0x2133

// attr reads the value of one attribute.
func (u *unit) attr(c *bytecursor.Cursor, s *attrSpec) value {
	switch {
	case s.form == formImplicitConst:
		return value{form: formSdata, num: uint64(s.implicit)}
	case s.size > 0 && s.size <= 8:
		return value{form: s.form, num: c.Uint(s.size)}
	}
	return u.read(c, s.form)
}

// text returns the string that v refers to, cut to maxName bytes. It returns "" if the string
// is in another file or out of bounds.
func (x *Index) text(u *unit, r *root, v value) string {
	return string(x.textBytes(u, r, v))
}

// textBytes is like text, but does not copy.
func (x *Index) textBytes(u *unit, r *root, v value) []byte {
	b := v.str
	switch v.form {
	case formString:
	case formStrp:
		c := bytecursor.New(x.s.str, v.num, x.s.order)
		b = c.CString()
	case formLineStrp:
		c := bytecursor.New(x.s.lineStr, v.num, x.s.order)
		b = c.CString()
	case formStrx, formStrx1, formStrx2, formStrx3, formStrx4, formGNUStrIndex:
		c := bytecursor.New(x.s.strOffsets, tableOffset(r.strBase, v.num, u.offsetSize), x.s.order)
		off := c.Uint(int(u.offsetSize))
		if c.Err() != nil {
			return nil
		}
		c = bytecursor.New(x.s.str, off, x.s.order)
		b = c.CString()
	default:
		return nil
	}
	return b[:min(len(b), maxName)]
}

// tableOffset returns base + index*size. If that overflows, it returns an offset beyond any
// section.
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

// unitLength reads an initial length (DWARF 5 section 7.4): the number of bytes that follow it
// and the size of offsets, 4 or 8.
func unitLength(c *bytecursor.Cursor) (length uint64, offsetSize int) {
	n := c.U32()
	switch {
	case n == 0xffffffff:
		return c.U64(), 8
	case n >= 0xfffffff0:
		c.Fail(errors.New("reserved unit length"))
		return 0, 4
	}
	return uint64(n), 4
}
