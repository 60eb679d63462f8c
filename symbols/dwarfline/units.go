package dwarfline

// Units calls yield with the root entry of each compilation unit until yield returns false.
// Units with code at vaddr come first. For a skeleton it passes the split unit. The number of
// entries reached from all of them together is limited.
func (x *Index) Units(vaddr uint64, yield func(DIE) bool) {
	if x.load() != nil {
		return
	}
	left := maxDIEs
	first := map[int32]bool{}
	visit := func(i int32) bool {
		x, d, err := x.whole(i)
		if err != nil {
			return true
		}
		root, ok := x.die(d, d.unit.entries, &left)
		return !ok || yield(root)
	}
	more := true
	x.where.find(vaddr, func(i int32) bool {
		first[i] = true
		more = visit(i)
		return !more
	})
	for i := int32(0); more && int(i) < len(x.units); i++ {
		if !first[i] {
			more = visit(i)
		}
	}
}
