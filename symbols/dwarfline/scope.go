package dwarfline

import "debug/dwarf"

// Scope returns the entry of the innermost function, or inlined copy of one, at the virtual
// address vaddr (inner), and of the function that contains this code (outer). Both are the same
// if nothing is inlined there. ok is false if the file does not describe the address. The
// limits are those of Subprogram.
func (x *Index) Scope(vaddr uint64) (inner, outer DIE, ok bool, err error) {
	if err := x.load(); err != nil {
		return DIE{}, DIE{}, false, err
	}
	left := maxDIEs
	x.where.find(vaddr, func(i int32) bool {
		x, d, dataErr := x.whole(i)
		if dataErr == nil {
			dataErr = x.complete(d)
		}
		if dataErr != nil {
			err = dataErr
		}
		if d == nil || d.tree == nil {
			return false
		}
		fn := d.tree.find(vaddr)
		if fn < 0 {
			return false
		}
		if inner, ok = x.die(d, d.tree.functions[fn].entry, &left); !ok {
			return false
		}
		for d.tree.functions[fn].parent >= 0 {
			fn = d.tree.functions[fn].parent
		}
		outer, ok = x.die(d, d.tree.functions[fn].entry, &left)
		return ok
	})
	if ok {
		err = nil
	}
	return inner, outer, ok, err
}

// maxScopeRanges is the maximum number of ranges checked for one entry.
const maxScopeRanges = 1 << 12

// Contains reports whether the entry, a function or a block, has code at the virtual address
// vaddr.
func (e DIE) Contains(vaddr uint64) bool {
	if e.a == nil {
		return false
	}
	if ranges := e.value(dwarf.AttrRanges); ranges.form != 0 {
		for _, s := range e.x.rangeList(nil, e.d.unit, &e.d.root, ranges, maxScopeRanges) {
			if s.low <= vaddr && vaddr < s.high {
				return true
			}
		}
		return false
	}
	low, high := e.x.pcRange(e.d.unit, &e.d.root, e.value(dwarf.AttrLowpc), e.value(dwarf.AttrHighpc))
	return low <= vaddr && vaddr < high
}

// Entry returns the address of the entry's first instruction (DW_AT_entry_pc, else
// DW_AT_low_pc).
func (e DIE) Entry() (uint64, bool) {
	if e.a == nil {
		return 0, false
	}
	if v := e.value(dwarf.AttrEntrypc); v.form != 0 {
		if addr, ok := e.x.address(e.d.unit, &e.d.root, v); ok {
			return addr, true
		}
	}
	return e.x.address(e.d.unit, &e.d.root, e.value(dwarf.AttrLowpc))
}

// Address returns the address with the given index in .debug_addr (DW_OP_addrx).
func (e DIE) Address(index uint64) (uint64, bool) {
	if e.a == nil {
		return 0, false
	}
	return e.x.addressAt(e.d.unit, &e.d.root, index)
}

// Unit returns the entry of the unit that contains e.
func (e DIE) Unit() DIE {
	if e.a == nil {
		return DIE{}
	}
	root, _ := e.x.die(e.d, e.d.unit.entries, e.left)
	return root
}
