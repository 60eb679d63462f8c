package dwarfline

import (
	"debug/dwarf"
	"fmt"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

// maxDIEs is the maximum number of entries visited for one call of Subprogram.
const maxDIEs = 4 << 20

// DIE is a debugging information entry (DWARF 5 section 2), for callers that need more than
// Lookup returns. It is valid as long as its Index, and like it may be used by one goroutine at
// a time. The zero value has no attributes and no children.
type DIE struct {
	Offset uint64 // in .debug_info
	Tag    dwarf.Tag

	x     *Index
	d     *unitData
	a     *abbrev
	attrs uint64 // offset of the attributes
	left  *int   // entries that may still be visited
}

// Subprogram returns the entry of the function whose first instruction is at the virtual
// address vaddr. It returns false if the file does not describe it. After some four million
// entries, methods of this DIE and of DIEs reached from it find no others.
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

// die returns the entry at offset off in unit d.
func (x *Index) die(d *unitData, off uint64, left *int) (DIE, bool) {
	if *left--; *left < 0 {
		return DIE{}, false
	}
	c := bytecursor.New(x.s.info[:d.unit.end], off, x.s.order)
	a := d.abbrevs.get(c.ULEB())
	if a == nil || c.Err() != nil {
		return DIE{}, false
	}
	return DIE{Offset: off, Tag: a.tag, x: x, d: d, a: a, attrs: c.Offset(), left: left}, true
}

// value reads one attribute. The form is 0 if the entry does not have it.
func (e DIE) value(attr dwarf.Attr) value {
	if e.a == nil {
		return value{}
	}
	c := bytecursor.New(e.x.s.info[:e.d.unit.end], e.attrs, e.x.s.order)
	for i := range e.a.attrs {
		v := e.d.unit.attr(&c, &e.a.attrs[i])
		if c.Err() != nil {
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

// Text returns the value of a string attribute, cut at 64 KiB, or "" if there is none.
func (e DIE) Text(attr dwarf.Attr) string {
	if e.a == nil {
		return ""
	}
	return e.x.text(e.d.unit, &e.d.root, e.value(attr))
}

// Uint returns the value of a numeric attribute as an unsigned number. A flag is 1.
func (e DIE) Uint(attr dwarf.Attr) (uint64, bool) {
	v := e.value(attr)
	switch v.form {
	case formData1, formData2, formData4, formData8, formUdata, formSdata, formFlag, formFlagPresent, formSecOffset:
		return v.num, true
	}
	return 0, false
}

// Ref returns the entry that an attribute refers to, in any unit of the file.
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

// Expr returns the value of an attribute that is a block or a DWARF expression. The bytes
// belong to the section and must not be changed.
func (e DIE) Expr(attr dwarf.Attr) ([]byte, bool) {
	v := e.value(attr)
	switch v.form {
	case formBlock, formBlock1, formBlock2, formBlock4, formExprloc:
		return v.str, true
	}
	return nil, false
}

// Language returns the DW_LANG code of the entry's unit, or 0 if unknown.
func (e DIE) Language() uint64 {
	if e.d == nil {
		return 0
	}
	return e.d.root.language
}

// Producer returns the name of the compiler that wrote the entry's unit.
func (e DIE) Producer() string {
	if e.d == nil {
		return ""
	}
	return e.x.text(e.d.unit, &e.d.root, e.d.root.producer)
}

// AddrSize returns the size of an address in bytes.
func (e DIE) AddrSize() int {
	if e.d == nil {
		return 0
	}
	return int(e.d.unit.addrSize)
}

// typeOf returns the offset of the type with a signature. It has a unit of its own (DWARF 5
// section 3.1.4).
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
