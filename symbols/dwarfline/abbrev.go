package dwarfline

import (
	"debug/dwarf"
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

// attrSpec is one attribute of an abbreviation.
type attrSpec struct {
	attr     dwarf.Attr
	form     form
	size     int   // bytes of the value, -1 if the size varies
	implicit int64 // the value, if form is formImplicitConst
}

// abbrev is the layout of an entry (DWARF 5 section 7.5.3).
type abbrev struct {
	tag      dwarf.Tag
	children bool
	size     int  // bytes of the attributes, -1 if the size varies
	placed   bool // has addresses
	declares bool // is a declaration
	attrs    []attrSpec
}

// abbrevTable holds the abbreviations of a unit. Compilers number them from 1, so most are
// found by index.
type abbrevTable struct {
	dense  []abbrev
	sparse map[uint64]abbrev
	bytes  int // of the section that were read, a measure of the table's memory
}

func (t *abbrevTable) get(code uint64) *abbrev {
	if code-1 < uint64(len(t.dense)) {
		return &t.dense[code-1]
	}
	if a, ok := t.sparse[code]; ok {
		return &a
	}
	return nil
}

// maxAbbrevs is the maximum number of bytes read of one table. Tables of real units have about
// 10,000; each byte takes up to 20 bytes when decoded.
const maxAbbrevs = 1 << 20

// readAbbrevs decodes the table at c. If only is not zero, it stops after the abbreviation with
// that code.
func readAbbrevs(c bytecursor.Cursor, enc encoding, only uint64) (*abbrevTable, error) {
	t := &abbrevTable{}
	var all []attrSpec // of all abbreviations
	start := c.Offset()
	c.Limit(maxAbbrevs)
	for {
		code := c.ULEB()
		if code == 0 {
			break
		}
		a := abbrev{tag: dwarf.Tag(c.ULEB()), children: c.U8() != 0}
		first := len(all)
		for {
			attr, f := c.ULEB(), c.ULEB()
			if attr == 0 && f == 0 {
				break
			}
			if attr > 0xffff || f > 0xffff {
				c.Fail(errors.New("attribute or form out of range"))
				break
			}
			s := attrSpec{attr: dwarf.Attr(attr), form: form(f), size: enc.fixed(form(f))}
			if s.form == formImplicitConst {
				s.implicit = c.SLEB()
			}
			if s.size < 0 || a.size < 0 {
				a.size = -1
			} else {
				a.size += s.size
			}
			switch s.attr {
			case dwarf.AttrLowpc, dwarf.AttrRanges:
				a.placed = true
			case dwarf.AttrDeclaration:
				a.declares = true
			}
			all = append(all, s)
		}
		a.attrs = all[first:len(all):len(all)]
		if c.Err() != nil {
			break
		}
		if code == uint64(len(t.dense))+1 {
			t.dense = append(t.dense, a)
		} else {
			if t.sparse == nil {
				t.sparse = make(map[uint64]abbrev)
			}
			t.sparse[code] = a
		}
		if code == only {
			break
		}
	}
	if c.Err() != nil {
		return nil, fmt.Errorf("read .debug_abbrev: %w", c.Err())
	}
	t.bytes = int(c.Offset() - start)
	return t, nil
}
