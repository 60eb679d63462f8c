package dwarfline

import (
	"debug/dwarf"
	"fmt"
)

// maxLocations is how many entries of one location list are read.
const maxLocations = 1 << 16

// Location returns the expression that an attribute (DW_AT_location,
// DW_AT_frame_base) has at the virtual address vaddr (DWARF 5 section 2.6), and
// whether it is one for all of the entry's code. It returns nil when there is
// none for that address.
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
		c := at(e.x.s.locLists, tableOffset(base, off, e.d.unit.offsetSize), e.x.s.order)
		off = base + c.uint(int(e.d.unit.offsetSize))
		if c.err != nil {
			return nil, false, fmt.Errorf("read .debug_loclists: %w", c.err)
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

// locationBefore5 looks an address up in a list in .debug_loc (DWARF 4 section
// 2.6.2).
func (x *Index) locationBefore5(d *unitData, off, vaddr uint64) []byte {
	base, size := d.root.low, int(d.unit.addrSize)
	newBase := ^uint64(0) >> (64 - 8*uint(size))
	c := at(x.s.loc, off, x.s.order)
	for range maxLocations {
		low, high := c.uint(size), c.uint(size)
		switch {
		case c.err != nil, low == 0 && high == 0:
			return nil
		case low == newBase:
			base = high
			continue
		}
		expr := c.bytes(uint64(c.u16()))
		if c.err == nil && base+low <= vaddr && vaddr < base+high {
			return expr
		}
	}
	return nil
}

// locationOf5 looks an address up in a list in .debug_loclists (DWARF 5 section
// 7.7.3). The default location, of a list that has one, comes last.
func (x *Index) locationOf5(d *unitData, off, vaddr uint64) []byte {
	u, r := d.unit, &d.root
	base, size := r.low, int(u.addrSize)
	c := at(x.s.locLists, off, x.s.order)
	for range maxLocations {
		var low, high uint64
		switch c.u8() {
		case 1: // DW_LLE_base_addressx
			base, _ = x.addressAt(u, r, c.uleb())
			continue
		case 2: // DW_LLE_startx_endx
			low, _ = x.addressAt(u, r, c.uleb())
			high, _ = x.addressAt(u, r, c.uleb())
		case 3: // DW_LLE_startx_length
			low, _ = x.addressAt(u, r, c.uleb())
			high = low + c.uleb()
		case 4: // DW_LLE_offset_pair
			low = base + c.uleb()
			high = base + c.uleb()
		case 5: // DW_LLE_default_location
			low, high = 0, ^uint64(0)
		case 6: // DW_LLE_base_address
			base = c.uint(size)
			continue
		case 7: // DW_LLE_start_end
			low = c.uint(size)
			high = c.uint(size)
		case 8: // DW_LLE_start_length
			low = c.uint(size)
			high = low + c.uleb()
		case 9: // DW_LLE_GNU_view_pair
			c.uleb()
			c.uleb()
			continue
		default: // DW_LLE_end_of_list, or not a location list
			return nil
		}
		expr := c.bytes(c.uleb())
		if c.err != nil {
			return nil
		}
		if low <= vaddr && vaddr < high {
			return expr
		}
	}
	return nil
}
