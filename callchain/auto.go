package callchain

// Auto makes the best chain of a sample that carries both a copied stack and
// the kernel's chain. Where the leaf's object keeps frame pointers and the
// kernel's walk is sound up to the outermost function, that is the chain. Else
// the copy is unwound; where it ends too early, the kernel's chain goes on from
// the last frame reached, if it holds that frame and was sound there.
func (u *Unwinder) Auto(dst []Frame, space AddressSpace, c *Capture) ([]Frame, End) {
	from, version := len(dst), versionOf(space)
	walked := 0
	if u.leafKeepsFramePointers(space, version, c) {
		var end End
		if dst, end = u.walked(dst, space, c, true); end == Complete {
			return dst, end
		}
		walked = len(dst) - from
	}
	dst, end := u.Unwind(dst[:from], space, c)
	if end == Complete || len(u.pcs) == 0 {
		return dst, end
	}
	if i := u.meet(c.Chain); i >= 0 && u.lastKeepsRecord(space, version) {
		dst, spliced := u.follow(dst, space, version, c.Chain[i+1:], c.MaxStack-i-1, true)
		return dst, max(end, spliced)
	}
	if walked > len(dst)-from {
		return u.walked(dst[:from], space, c, true)
	}
	return dst, end
}

func (u *Unwinder) leafKeepsFramePointers(space AddressSpace, version uint64, c *Capture) bool {
	if len(c.Chain) == 0 {
		return false
	}
	p := u.lookup(space, version, c.Chain[0])
	return p != nil && p.table != nil && p.table.framePointers
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

// meet finds the frame unwound last in the kernel's chain; -1 if it is not
// there. A recursive function returns to one address many times: the unwound
// frames and the chain are then at the same return.
func (u *Unwinder) meet(chain []uint64) int {
	last := u.pcs[len(u.pcs)-1]
	nth := 0
	for _, pc := range u.pcs {
		if pc == last {
			nth++
		}
	}
	at := -1
	for i, addr := range chain {
		if u.arch == ARM64 {
			addr = stripPAC(addr)
		}
		if addr == last && nth > 0 {
			at = i
			nth--
		}
	}
	return at
}
