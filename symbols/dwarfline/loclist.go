package dwarfline

import (
	"debug/dwarf"
	"fmt"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

// maxLocations is the maximum number of entries read from one location list.
const maxLocations = 1 << 16

// Location returns the expression of an attribute (DW_AT_location, DW_AT_frame_base) at the
// virtual address vaddr (DWARF 5 section 2.6). everywhere is true if it holds for all of the
// entry's code. expr is nil if there is none for that address.
func (e DIE) Location(attr dwarf.Attr, vaddr uint64) (expr []byte, everywhere bool, err error) {
	if expr, ok := e.Expr(attr); ok {
		return expr, true, nil
	}
	v := e.value(attr)
	if v.form == 0 {
		return nil, false, nil
	}
	if err := e.x.readLocations(); err != nil {
		return nil, false, err
	}
	if e.d.unit.version < 5 && e.x.skeleton != nil {
		return e.x.locationOfGNU(e.d, v.num, vaddr), false, nil
	}
	if e.d.unit.version < 5 {
		return e.x.locationBefore5(e.d, v.num, vaddr), false, nil
	}
	off := v.num
	if v.form == formLoclistx {
		base := e.d.root.locBase
		c := bytecursor.New(e.x.s.locLists, tableOffset(base, off, e.d.unit.offsetSize), e.x.s.order)
		off = base + c.Uint(int(e.d.unit.offsetSize))
		if c.Err() != nil {
			return nil, false, fmt.Errorf("read .debug_loclists: %w", c.Err())
		}
	}
	return e.x.locationOf5(e.d, off, vaddr), false, nil
}

// readLocations reads the sections of location lists, once.
func (x *Index) readLocations() error {
	if x.s.loc != nil || x.s.locLists != nil {
		return nil
	}
	var err error
	if x.s.loc, err = x.src.SectionData(".debug_loc"); err != nil {
		return fmt.Errorf("read .debug_loc: %w", err)
	}
	if x.s.locLists, err = x.src.SectionData(".debug_loclists"); err != nil {
		return fmt.Errorf("read .debug_loclists: %w", err)
	}
	return nil
}

// locationBefore5 searches a list in .debug_loc for an address (DWARF 4 section 2.6.2).
func (x *Index) locationBefore5(d *unitData, off, vaddr uint64) []byte {
	base, size := d.root.low, int(d.unit.addrSize)
	newBase := ^uint64(0) >> (64 - 8*uint(size))
	c := bytecursor.New(x.s.loc, off, x.s.order)
	for range maxLocations {
		low, high := c.Uint(size), c.Uint(size)
		switch {
		case c.Err() != nil, low == 0 && high == 0:
			return nil
		case low == newBase:
			base = high
			continue
		}
		expr := c.Bytes(uint64(c.U16()))
		if c.Err() == nil && base+low <= vaddr && vaddr < base+high {
			return expr
		}
	}
	return nil
}

// locationOf5 searches a list in .debug_loclists for an address (DWARF 5 section 7.7.3). If a
// list has a default location, it is the last entry.
func (x *Index) locationOf5(d *unitData, off, vaddr uint64) []byte {
	u, r := d.unit, &d.root
	base, size := r.low, int(u.addrSize)
	c := bytecursor.New(x.s.locLists, off, x.s.order)
	for range maxLocations {
		var low, high uint64
		switch c.U8() {
		case 1: // DW_LLE_base_addressx
			base, _ = x.addressAt(u, r, c.ULEB())
			continue
		case 2: // DW_LLE_startx_endx
			low, _ = x.addressAt(u, r, c.ULEB())
			high, _ = x.addressAt(u, r, c.ULEB())
		case 3: // DW_LLE_startx_length
			low, _ = x.addressAt(u, r, c.ULEB())
			high = low + c.ULEB()
		case 4: // DW_LLE_offset_pair
			low = base + c.ULEB()
			high = base + c.ULEB()
		case 5: // DW_LLE_default_location
			low, high = 0, ^uint64(0)
		case 6: // DW_LLE_base_address
			base = c.Uint(size)
			continue
		case 7: // DW_LLE_start_end
			low = c.Uint(size)
			high = c.Uint(size)
		case 8: // DW_LLE_start_length
			low = c.Uint(size)
			high = low + c.ULEB()
		case 9: // DW_LLE_GNU_view_pair
			c.ULEB()
			c.ULEB()
			continue
		default: // DW_LLE_end_of_list, or not a location list
			return nil
		}
		expr := c.Bytes(c.ULEB())
		if c.Err() != nil {
			return nil
		}
		if low <= vaddr && vaddr < high {
			return expr
		}
	}
	return nil
}
