package dwarfline

import "github.com/ringtap/ringtap/internal/object/bytecursor"

// span is a range of addresses, high excluded.
type span struct{ low, high uint64 }

// address returns the address that v stands for.
func (x *Index) address(u *unit, r *root, v value) (uint64, bool) {
	switch v.form {
	case formAddr:
		return v.num, true
	case formAddrx, formAddrx1, formAddrx2, formAddrx3, formAddrx4, formGNUAddrIndex:
		return x.addressAt(u, r, v.num)
	}
	return 0, false
}

// addressAt returns element index of the unit's part of .debug_addr.
func (x *Index) addressAt(u *unit, r *root, index uint64) (uint64, bool) {
	c := bytecursor.New(x.s.addr, tableOffset(r.addrBase, index, u.addrSize), x.s.order)
	addr := c.Uint(int(u.addrSize))
	return addr, c.Err() == nil
}

// pcRange returns the range of DW_AT_low_pc and DW_AT_high_pc. low alone is also the base of
// range lists. high is an address or, from DWARF 4 on, a length.
func (x *Index) pcRange(u *unit, r *root, low, high value) (uint64, uint64) {
	l, ok := x.address(u, r, low)
	if !ok {
		return 0, 0
	}
	switch h, isAddr := x.address(u, r, high); {
	case isAddr:
		return l, h
	case high.form == 0:
		return l, 0
	}
	return l, l + high.num
}

// real reports whether s can be code of a linked file. Linkers set the addresses of dropped
// functions to 0, newer linkers to the highest addresses.
func (s span) real() bool { return s.low != 0 && s.low < s.high }

// rangeList appends to dst at most limit ranges of v, a DW_AT_ranges.
func (x *Index) rangeList(dst []span, u *unit, r *root, v value, limit int) []span {
	switch {
	case v.form == 0:
		return dst
	case u.version < 5:
		return x.rangesBefore5(dst, u, r, v.num, limit)
	}
	off := v.num
	if v.form == formRnglistx {
		c := bytecursor.New(x.s.rngLists, tableOffset(r.rangesBase, off, u.offsetSize), x.s.order)
		off = r.rangesBase + c.Uint(int(u.offsetSize))
		if c.Err() != nil {
			return dst
		}
	}
	return x.rangesOf5(dst, u, r, off, limit)
}

// rangesBefore5 reads a list in .debug_ranges (DWARF 4 section 2.17.3).
func (x *Index) rangesBefore5(dst []span, u *unit, r *root, off uint64, limit int) []span {
	base := r.low
	newBase := ^uint64(0) >> (64 - 8*uint(u.addrSize))
	c := bytecursor.New(x.s.ranges, r.rangesBase+off, x.s.order)
	for ; limit > 0; limit-- {
		low, high := c.Uint(int(u.addrSize)), c.Uint(int(u.addrSize))
		switch {
		case c.Err() != nil, low == 0 && high == 0:
			return dst
		case low == newBase:
			base = high
			continue
		}
		if s := (span{base + low, base + high}); s.real() {
			dst = append(dst, s)
		}
	}
	return dst
}

// rangesOf5 reads a list in .debug_rnglists (DWARF 5 section 7.25).
func (x *Index) rangesOf5(dst []span, u *unit, r *root, off uint64, limit int) []span {
	base := r.low
	size := int(u.addrSize)
	c := bytecursor.New(x.s.rngLists, off, x.s.order)
	for ; limit > 0; limit-- {
		var s span
		switch c.U8() {
		case 1: // DW_RLE_base_addressx
			base, _ = x.addressAt(u, r, c.ULEB())
		case 2: // DW_RLE_startx_endx
			s.low, _ = x.addressAt(u, r, c.ULEB())
			s.high, _ = x.addressAt(u, r, c.ULEB())
		case 3: // DW_RLE_startx_length
			s.low, _ = x.addressAt(u, r, c.ULEB())
			s.high = s.low + c.ULEB()
		case 4: // DW_RLE_offset_pair
			s.low = base + c.ULEB()
			s.high = base + c.ULEB()
		case 5: // DW_RLE_base_address
			base = c.Uint(size)
		case 6: // DW_RLE_start_end
			s.low = c.Uint(size)
			s.high = c.Uint(size)
		case 7: // DW_RLE_start_length
			s.low = c.Uint(size)
			s.high = s.low + c.ULEB()
		default: // DW_RLE_end_of_list, or not a range list
			return dst
		}
		if c.Err() != nil {
			return dst
		}
		if s.real() {
			dst = append(dst, s)
		}
	}
	return dst
}
