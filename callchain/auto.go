package callchain

// Auto returns the best chain for a sample that has both a copied stack and the kernel's chain:
//
//   - If the leaf's object keeps frame pointers and the kernel's walk is sound up to the
//     outermost function, it is the kernel's chain.
//   - Otherwise it unwinds the copy. If the copy ends too early, the kernel's chain continues
//     from the frame record of the last frame reached, if that frame has one.
//   - If the copy ends in code without a table, such as JIT code, the kernel's chain is just as
//     good. Auto then takes the longer of the two.
func (u *Unwinder) Auto(dst []Frame, space AddressSpace, c *Capture) ([]Frame, End) {
	u.begin()
	return u.finish(u.auto(dst, space, c))
}

// auto is Auto without the mark at the end of the chain: see finish.
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
		return dst, end // the registers belong to an unknown caller
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

// followRecords follows the frame records that the kernel's chain came from, to find out how
// far up the stack they go: see Reach. It does so only if memory beyond the copy was read.
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
			break // the outermost record
		}
		record = next
	}
	u.alone = true
}

// longer returns the kernel's chain if it has more frames than dst[from:].
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

// lastUnruled reports whether no table has a rule for the frame unwound last.
func (u *Unwinder) lastUnruled(space AddressSpace, version uint64) bool {
	at := u.pcs[len(u.pcs)-1]
	if len(u.pcs) > 1 {
		at--
	}
	p := u.lookup(space, version, at)
	return p != nil && p.set == nil
}

// lastKeepsRecord reports whether the frame unwound last has a frame record, from which the
// kernel's walk continued.
func (u *Unwinder) lastKeepsRecord(space AddressSpace, version uint64) bool {
	at := u.pcs[len(u.pcs)-1]
	if len(u.pcs) > 1 {
		at--
	}
	p := u.lookup(space, version, at)
	return p != nil && p.keepsRecord()
}

// meet returns the index in the kernel's chain of the return address of the frame unwound last.
// The kernel started at the captured frame pointer and took one address from each record. meet
// follows the same records in the copy, up to the last frame's record, and counts them.
func (u *Unwinder) meet(c *Capture) (int, bool) {
	if !u.regs.has(u.machine.fp) {
		return 0, false
	}
	return u.record(c, u.regs.v[u.machine.fp])
}

// record returns the index in the kernel's chain of the return address that the frame
// record at addr holds. It returns false if the chain does not get that far.
func (u *Unwinder) record(c *Capture, addr uint64) (int, bool) {
	m := u.machine
	if !c.Regs.has(m.fp) {
		return 0, false
	}
	i := 1
	if caller, ok := u.mem.word(u.mem.base); ok && c.Entry && m.ra == m.pc && len(c.Chain) > 1 && c.Chain[1] == caller {
		i++ // inserted by the kernel
	}
	record := c.Regs.v[m.fp]
	for ; record != addr; i++ {
		next, ok := u.mem.word(record)
		if !ok || next <= record && next != addr { // addr may be on another stack
			return 0, false
		}
		record = next
	}
	return i, i < len(c.Chain)
}
