package callchain

// FromCallchain makes frames from c.Chain, the kernel's own walk of the frame pointers. It
// repairs one fault of that walk. If the leaf has not set up its frame, or has none, the frame
// pointer is still the caller's, and the walk skips the caller. FromCallchain knows that from
// the leaf's table row or from c.Entry. It then reads the caller's address from c.Stack, of
// which a few words are enough.
//
// Code without a table has c.Entry only: elsewhere in a prologue or epilogue a frame is lost.
//
// The rest of the chain is used as the kernel gives it, as long as its addresses are code.
// Beyond a function that uses the frame pointer for something else, it is as wrong as any frame
// pointer walk.
func (u *Unwinder) FromCallchain(dst []Frame, space AddressSpace, c *Capture) ([]Frame, End) {
	u.begin()
	return u.finish(u.walked(dst, space, c, false))
}

// walked does the work of FromCallchain. If strict, it ends before the first address that was
// not read from a frame record.
func (u *Unwinder) walked(dst []Frame, space AddressSpace, c *Capture, strict bool) ([]Frame, End) {
	u.alone = false
	if len(c.Chain) == 0 {
		return dst, Lost
	}
	version := versionOf(space)
	p := u.lookup(space, version, c.Chain[0])
	if p == nil {
		return dst, Lost
	}
	dst = append(dst, p.frame)
	if p.isFirst() {
		return dst, Complete
	}
	sound := true
	switch caller, state := u.inspect(p, c); state {
	case recordMissing:
		if p = u.lookup(space, version, caller-1); p == nil {
			return dst, Lost
		}
		dst = append(dst, p.caller())
		if p.outermost() {
			return dst, Complete
		}
		sound = p.keepsRecord()
	case recordUnknown:
		sound = p.keepsRecord()
	}
	if strict && !sound {
		return dst, Lost
	}
	return u.follow(dst, space, version, c.Chain[1:], c.MaxStack-1, strict)
}

// recordState says where the frame pointer points while the leaf runs.
type recordState uint8

const (
	recordUnknown recordState = iota
	recordSet                 // at the leaf's record; or the kernel has repaired the chain itself
	recordMissing             // still at the caller's record
)

// inspect finds out whether the frame pointer points at the record that holds the leaf's return
// address. If not, it returns that address.
func (u *Unwinder) inspect(p *place, c *Capture) (uint64, recordState) {
	m := u.machine
	if m == nil || c.Regs.arch != u.arch || c.Regs.v[m.pc] != c.Chain[0] {
		return 0, recordUnknown
	}
	u.regs = c.Regs
	u.mem = newMemory(m, c.Regs.v[m.sp], c.Stack, u.mem.reads)
	caller, ok := uint64(0), false
	switch {
	case p.set != nil:
		u.old = u.regs
		cfa, known := u.cfa(p.set)
		if !known {
			return 0, recordUnknown
		}
		if p.set.ra.kind == ruleOffset && u.regs.v[m.fp]+uint64(m.word) == cfa+uint64(int64(p.set.ra.val)) {
			return 0, recordSet
		}
		caller, _, ok = u.returnAddress(p.set, cfa)
	case c.Entry && m.ra != m.pc:
		caller, ok = u.regs.v[m.ra], u.regs.has(m.ra)
	case c.Entry:
		caller, ok = u.mem.word(u.regs.v[m.sp])
	}
	if u.arch == ARM64 {
		caller = stripPAC(caller)
	}
	switch {
	case !ok || caller == 0:
		return 0, recordUnknown
	case c.Entry && len(c.Chain) > 1 && c.Chain[1] == caller:
		return 0, recordSet // since 6.11 kernels insert it for a probe at a function's entry
	}
	return caller, recordMissing
}

// follow appends the frames of the return addresses in chain. limit is the number of return
// addresses at which the kernel stops, or at most zero if that is unknown.
func (u *Unwinder) follow(dst []Frame, space AddressSpace, version uint64, chain []uint64, limit int, strict bool) ([]Frame, End) {
	for i, addr := range chain {
		if u.arch == ARM64 {
			addr = stripPAC(addr)
		}
		p := u.lookup(space, version, addr-1)
		if p == nil && u.switching && !strict {
			continue // see flagCrossCall
		}
		if p == nil {
			return dst, Lost
		}
		dst = append(dst, p.caller())
		if p.outermost() {
			return dst, Complete
		}
		u.switching = p.set != nil && p.set.flags&(flagSwitch|flagUnknown|flagCrossCall) != 0
		if strict && !p.keepsRecord() && i+1 < len(chain) {
			return dst, Lost
		}
	}
	if limit > 0 && len(chain) >= limit {
		return dst, Cut
	}
	return dst, Lost
}
