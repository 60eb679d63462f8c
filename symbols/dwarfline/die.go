package dwarfline

import (
	"debug/dwarf"
	"fmt"
)

// maxDIEs is how many entries may be looked at on behalf of one Subprogram.
const maxDIEs = 4 << 20

// DIE is a debugging information entry (DWARF 5 section 2), for those who want
// to know more of a function than Lookup tells. It is good as long as its Index,
// and like it for one goroutine at a time. Its zero value has no attributes and
// no children.
type DIE struct {
	Offset uint64 // in .debug_info
	Tag    dwarf.Tag

	x     *Index
	d     *unitData
	a     *abbrev
	attrs uint64 // offset of the attributes
	left  *int   // entries that may still be looked at
}

// Subprogram returns the entry of the function whose first instruction is at the
// virtual address vaddr; false when the file says nothing about it. All that is
// reached from there is bounded: past some million entries there are no others.
func (x *Index) Subprogram(vaddr uint64) (DIE, bool, error) {
	if err := x.load(); err != nil {
		return DIE{}, false, err
	}
	left := maxDIEs
	var e DIE
	var failed error
	found := false
	x.where.find(vaddr, func(i int32) bool {
		x, d, err := x.whole(i)
		if err == nil {
			err = x.complete(d)
		}
		if err != nil {
			failed = fmt.Errorf("look for the function at %#x: %w", vaddr, err)
		}
		if d == nil || d.tree == nil {
			return false
		}
		fn := d.tree.find(vaddr)
		for fn >= 0 && d.tree.functions[fn].parent >= 0 {
			fn = d.tree.functions[fn].parent
		}
		if fn < 0 || x.entryOf(d, &d.tree.functions[fn]) != vaddr {
			return false
		}
		e, found = x.die(d, d.tree.functions[fn].entry, &left)
		return found
	})
	if found {
		return e, true, nil
	}
	return DIE{}, false, failed
}

// die returns the entry at off, in d.
func (x *Index) die(d *unitData, off uint64, left *int) (DIE, bool) {
	if *left--; *left < 0 {
		return DIE{}, false
	}
	c := at(x.s.info[:d.unit.end], off, x.s.order)
	a := d.abbrevs.get(c.uleb())
	if a == nil || c.err != nil {
		return DIE{}, false
	}
	return DIE{Offset: off, Tag: a.tag, x: x, d: d, a: a, attrs: c.off, left: left}, true
}

// value reads one attribute, form 0 when there is none.
func (e DIE) value(attr dwarf.Attr) value {
	if e.a == nil {
		return value{}
	}
	c := at(e.x.s.info[:e.d.unit.end], e.attrs, e.x.s.order)
	for i := range e.a.attrs {
		v := e.d.unit.attr(&c, &e.a.attrs[i])
		if c.err != nil {
			break
		}
		if e.a.attrs[i].attr == attr {
			return v
		}
	}
	return value{}
}

// Has reports whether the entry has the attribute.
func (e DIE) Has(attr dwarf.Attr) bool { return e.value(attr).form != 0 }

// Text returns the value of an attribute that is a string, cut at 64 KiB; "" when
// it has none.
func (e DIE) Text(attr dwarf.Attr) string {
	if e.a == nil {
		return ""
	}
	return e.x.text(e.d.unit, &e.d.root, e.value(attr))
}

// Uint returns the value of an attribute that is a number, as an unsigned one:
// a flag is 1.
func (e DIE) Uint(attr dwarf.Attr) (uint64, bool) {
	v := e.value(attr)
	switch v.form {
	case formData1, formData2, formData4, formData8, formUdata, formSdata, formFlag, formFlagPresent, formSecOffset:
		return v.num, true
	}
	return 0, false
}

// Ref returns the entry that an attribute refers to, in this or another unit of
// the file.
func (e DIE) Ref(attr dwarf.Attr) (DIE, bool) {
	if e.a == nil {
		return DIE{}, false
	}
	v := e.value(attr)
	off, ok := e.d.unit.reference(v)
	if v.form == formRefSig8 {
		off, ok = e.x.typeOf(v.num)
	}
	if !ok {
		return DIE{}, false
	}
	d := e.d
	if off < d.unit.entries || off >= d.unit.end {
		if d, ok = e.x.unitAt(off); !ok {
			return DIE{}, false
		}
	}
	return e.x.die(d, off, e.left)
}

// Expr returns the value of an attribute that is a block or a DWARF expression.
// The bytes are the section's.
func (e DIE) Expr(attr dwarf.Attr) ([]byte, bool) {
	v := e.value(attr)
	switch v.form {
	case formBlock, formBlock1, formBlock2, formBlock4, formExprloc:
		return v.str, true
	}
	return nil, false
}

// Language is the DW_LANG code of the entry's unit, 0 when unknown.
func (e DIE) Language() uint64 {
	if e.d == nil {
		return 0
	}
	return e.d.root.language
}

// Producer names the compiler of the entry's unit.
func (e DIE) Producer() string {
	if e.d == nil {
		return ""
	}
	return e.x.text(e.d.unit, &e.d.root, e.d.root.producer)
}

// AddrSize is the size of an address in bytes.
func (e DIE) AddrSize() int {
	if e.d == nil {
		return 0
	}
	return int(e.d.unit.addrSize)
}

// typeOf returns the offset of the type with a signature, which is in a unit of
// its own (DWARF 5 section 3.1.4).
func (x *Index) typeOf(signature uint64) (uint64, bool) {
	if x.signatures == nil {
		x.signatures = make(map[uint64]uint64)
		for i := range x.units {
			if u := &x.units[i]; u.typeEntry != 0 {
				x.signatures[u.signature] = u.typeEntry
			}
		}
	}
	off, ok := x.signatures[signature]
	return off, ok
}
