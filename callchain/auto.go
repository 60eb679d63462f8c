package callchain

// Auto makes the best chain of a sample that carries both a copied stack and
// the kernel's chain. Where the leaf's object keeps frame pointers and the
// kernel's walk is sound up to the outermost function, that is the chain. Else
// the copy is unwound; where it ends too early, the kernel's chain goes on from
// the record of the last frame reached, if that frame has one. Where the copy ends in
// code that no table knows, such as a compiler makes at run time, the kernel's chain is
// as good, and the longer of the two is taken.
func (u *Unwinder) Auto(dst []Frame, space AddressSpace, c *Capture) ([]Frame, End) {
	u.begin()
	return u.finish(u.auto(dst, space, c))
}

// auto is Auto without the mark where a chain has ended.
func (u *Unwinder) auto(dst []Frame, space AddressSpace, c *Capture) ([]Frame, End) {
	from, version := len(dst), versionOf(space)
	walked := 0
	if c.Runtime == nil && u.leafKeepsFramePointers(space, version, c) {
		var end End
		if dst, end = u.walked(dst, space, c, true); end == Complete {
			u.followRecords(c)
			return dst, end
		}
		walked = len(dst) - from
	}
	dst, end := u.unwind(dst[:from], space, c)
	if end == Complete || u.managed || u.marked {
		return dst, end
	}
	u.alone = false
	switch {
	case u.hidden:
		return dst, end // the registers are those of a caller that is not known
	case len(u.pcs) == 0: // no registers
		return u.walked(dst, space, c, false)
	}
	unruled := u.lastUnruled(space, version)
	if i, ok := u.meet(c); ok && u.lastKeepsRecord(space, version) {
		var spliced End
		dst, spliced = u.follow(dst, space, version, c.Chain[i:], c.MaxStack-i, true)
		end = max(end, spliced)
	} else if walked > len(dst)-from {
		dst, end = u.walked(dst[:from], space, c, true)
	}
	if unruled && end != Complete {
		return u.longer(dst, from, end, space, c)
	}
	return dst, end
}

// followRecords finds out how far the frame records go that the kernel's chain was made of, where
// memory behind the copy was read: see Reach.
func (u *Unwinder) followRecords(c *Capture) {
	m := u.machine
	if c.Beyond.Empty() || !c.Regs.has(m.fp) {
		return
	}
	u.mem = newMemory(m, c.Regs.v[m.sp], c.Stack, u.mem.reads)
	u.mem.beyond = c.Beyond
	record := c.Regs.v[m.fp]
	for range c.Chain {
		next, ok := u.mem.word(record)
		if !ok {
			return
		}
		if next <= record {
			break // the outermost has none
		}
		record = next
	}
	u.alone = true
}

// longer returns the kernel's chain if it has more frames than the one that dst holds
// from an index on.
func (u *Unwinder) longer(dst []Frame, from int, end End, space AddressSpace, c *Capture) ([]Frame, End) {
	n := len(dst)
	dst, kernel := u.walked(dst, space, c, false)
	if chain := dst[n:]; len(chain) > n-from {
		return dst[:from+copy(dst[from:], chain)], kernel
	}
	return dst[:n], end
}

func (u *Unwinder) leafKeepsFramePointers(space AddressSpace, version uint64, c *Capture) bool {
	if len(c.Chain) == 0 {
		return false
	}
	p := u.lookup(space, version, c.Chain[0])
	return p != nil && p.table != nil && p.table.FramePointers()
}

// lastUnruled says whether no table has a rule for the frame unwound last.
func (u *Unwinder) lastUnruled(space AddressSpace, version uint64) bool {
	at := u.pcs[len(u.pcs)-1]
	if len(u.pcs) > 1 {
		at--
	}
	p := u.lookup(space, version, at)
	return p != nil && p.set == nil
}

// lastKeepsRecord says whether the frame unwound last has a frame record, from
// which the kernel went on.
func (u *Unwinder) lastKeepsRecord(space AddressSpace, version uint64) bool {
	at := u.pcs[len(u.pcs)-1]
	if len(u.pcs) > 1 {
		at--
	}
	p := u.lookup(space, version, at)
	return p != nil && p.keepsRecord()
}

// meet finds the return address of the frame unwound last in the kernel's
// chain. The kernel began at the captured frame pointer and took one address
// from each record; following the records in the copy up to the one that the
// last frame's frame pointer points at counts the addresses before that.
func (u *Unwinder) meet(c *Capture) (int, bool) {
	if !u.regs.has(u.machine.fp) {
		return 0, false
	}
	return u.record(c, u.regs.v[u.machine.fp])
}

// record finds the return address of the frame record at an address in the kernel's chain.
func (u *Unwinder) record(c *Capture, at uint64) (int, bool) {
	m := u.machine
	if !c.Regs.has(m.fp) {
		return 0, false
	}
	i := 1
	if caller, ok := u.mem.word(u.mem.base); ok && c.Entry && m.ra == m.pc && len(c.Chain) > 1 && c.Chain[1] == caller {
		i++ // inserted by the kernel
	}
	record := c.Regs.v[m.fp]
	for ; record != at; i++ {
		next, ok := u.mem.word(record)
		if !ok || next <= record && next != at { // at may be on another stack
			return 0, false
		}
		record = next
	}
	return i, i < len(c.Chain)
}
