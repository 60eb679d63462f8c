package dwarfline

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

// addressAt returns entry index of the unit's part of .debug_addr.
func (x *Index) addressAt(u *unit, r *root, index uint64) (uint64, bool) {
	c := at(x.s.addr, tableOffset(r.addrBase, index, u.addrSize), x.s.order)
	addr := c.uint(int(u.addrSize))
	return addr, c.err == nil
}

// pcRange returns what DW_AT_low_pc and DW_AT_high_pc say; low alone is also
// the base of range lists. High is an address or, from DWARF 4 on, a length.
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

// real says whether s can be code of a linked file: linkers set the addresses
// of dropped functions to 0, and newer ones to the highest addresses.
func (s span) real() bool { return s.low != 0 && s.low < s.high }

// rangeList appends to dst the ranges that v, a DW_AT_ranges, refers to, at
// most limit of them.
func (x *Index) rangeList(dst []span, u *unit, r *root, v value, limit int) []span {
	switch {
	case v.form == 0:
		return dst
	case u.version < 5:
		return x.rangesBefore5(dst, u, r, v.num, limit)
	}
	off := v.num
	if v.form == formRnglistx {
		c := at(x.s.rngLists, tableOffset(r.rangesBase, off, u.offsetSize), x.s.order)
		off = r.rangesBase + c.uint(int(u.offsetSize))
		if c.err != nil {
			return dst
		}
	}
	return x.rangesOf5(dst, u, r, off, limit)
}

// rangesBefore5 reads a list in .debug_ranges (DWARF 4 section 2.17.3).
func (x *Index) rangesBefore5(dst []span, u *unit, r *root, off uint64, limit int) []span {
	base := r.low
	newBase := ^uint64(0) >> (64 - 8*uint(u.addrSize))
	c := at(x.s.ranges, r.rangesBase+off, x.s.order)
	for ; limit > 0; limit-- {
		low, high := c.uint(int(u.addrSize)), c.uint(int(u.addrSize))
		switch {
		case c.err != nil, low == 0 && high == 0:
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
	c := at(x.s.rngLists, off, x.s.order)
	for ; limit > 0; limit-- {
		var s span
		switch c.u8() {
		case 1: // DW_RLE_base_addressx
			base, _ = x.addressAt(u, r, c.uleb())
		case 2: // DW_RLE_startx_endx
			s.low, _ = x.addressAt(u, r, c.uleb())
			s.high, _ = x.addressAt(u, r, c.uleb())
		case 3: // DW_RLE_startx_length
			s.low, _ = x.addressAt(u, r, c.uleb())
			s.high = s.low + c.uleb()
		case 4: // DW_RLE_offset_pair
			s.low = base + c.uleb()
			s.high = base + c.uleb()
		case 5: // DW_RLE_base_address
			base = c.uint(size)
		case 6: // DW_RLE_start_end
			s.low = c.uint(size)
			s.high = c.uint(size)
		case 7: // DW_RLE_start_length
			s.low = c.uint(size)
			s.high = s.low + c.uleb()
		default: // DW_RLE_end_of_list, or not a range list
			return dst
		}
		if c.err != nil {
			return dst
		}
		if s.real() {
			dst = append(dst, s)
		}
	}
	return dst
}
