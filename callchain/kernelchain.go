package callchain

// Markers of perf's callchains: they announce whose addresses follow
// (enum perf_callchain_context). All values from contextMax on are markers.
const (
	contextKernel = ^uint64(128 - 1)
	contextUser   = ^uint64(512 - 1)
	contextMax    = ^uint64(4095 - 1)
)

// Split cuts a sample's callchain (PERF_SAMPLE_CALLCHAIN) at its markers into
// the part of the kernel and the part of the user program, both leaf first and
// without markers. Addresses of guests and of contexts unknown are left out.
// The results are parts of chain; nothing is copied.
func Split(chain []uint64) (kernel, user []uint64) {
	for i := 0; i < len(chain); {
		marker := chain[i]
		begin := i + 1
		for i = begin; i < len(chain) && chain[i] < contextMax; i++ {
		}
		switch marker {
		case contextKernel:
			kernel = chain[begin:i]
		case contextUser:
			user = chain[begin:i]
		}
	}
	return kernel, user
}

// AppendKernel appends the frames of the kernel's part of a callchain to dst.
func AppendKernel(dst []Frame, kernel []uint64) []Frame {
	for i, addr := range kernel {
		if i > 0 {
			addr--
		}
		dst = append(dst, Frame{Object: Kernel, Offset: addr})
	}
	return dst
}

// FromCallchain makes frames of the kernel's own walk of the frame pointers,
// c.Chain, and repairs its one fault: where the leaf has not set up its frame
// (or has none), the frame pointer is still the caller's, and the walk skips
// the caller. The leaf's table row, or c.Entry, says so; the caller's address
// is then read from c.Stack, of which a few words are enough.
func (u *Unwinder) FromCallchain(dst []Frame, space AddressSpace, c *Capture) ([]Frame, End) {
	if len(c.Chain) == 0 {
		return dst, Lost
	}
	u.pcs = u.pcs[:0]
	version := versionOf(space)
	p := u.lookup(space, version, c.Chain[0])
	if p == nil {
		return dst, Lost
	}
	dst = append(dst, p.frame)
	rest := c.Chain[1:]
	if caller, ok := u.leafCaller(p, c); ok && (len(rest) == 0 || rest[0] != caller) {
		if p := u.lookup(space, version, caller-1); p != nil {
			dst = append(dst, p.frame)
		}
	}
	return u.follow(dst, space, version, rest, c.MaxStack-1)
}

// leafCaller finds the return address of a leaf whose frame is not set up.
func (u *Unwinder) leafCaller(p *place, c *Capture) (uint64, bool) {
	if c.Regs.arch != u.arch || c.Regs.v[u.machine.pc] != c.Chain[0] {
		return 0, false
	}
	if p.set == nil && !c.Entry || p.set != nil && p.set.basedOn(u.machine.fp) {
		return 0, false
	}
	u.regs = c.Regs
	u.mem = memory{base: c.Regs.v[u.machine.sp], data: c.Stack}
	if _, done := u.step(p, &step{leaf: true, exact: true, entry: c.Entry}); done {
		return 0, false
	}
	return u.regs.v[u.machine.pc], true
}

// basedOn says whether the CFA is a fixed distance from a register.
func (s *ruleSet) basedOn(reg uint8) bool {
	return s.cfa.kind == ruleValOffset && s.cfa.reg == reg
}

// follow appends the frames of return addresses. limit is the number of them
// at which the kernel stops; zero or less if unknown.
func (u *Unwinder) follow(dst []Frame, space AddressSpace, version uint64, chain []uint64, limit int) ([]Frame, End) {
	end := Lost
	for _, addr := range chain {
		if u.arch == ARM64 {
			addr = stripPAC(addr)
		}
		p := u.lookup(space, version, addr-1)
		if p == nil {
			return dst, Lost
		}
		dst = append(dst, p.frame)
		end = Lost
		if p.outermost() {
			return dst, Complete
		}
	}
	if limit > 0 && len(chain) >= limit {
		end = Cut
	}
	return dst, end
}

// outermost says whether the place is in a function that has no caller.
func (p *place) outermost() bool {
	return p.set != nil && p.set.ra.kind == ruleUndefined
}

// Auto makes the best chain of a sample that carries both a copied stack and
// the kernel's chain: the kernel's where the leaf's object keeps frame
// pointers, else the unwound copy, continued by the kernel's chain where the
// copy ended too early and the chain holds the last frame reached.
func (u *Unwinder) Auto(dst []Frame, space AddressSpace, c *Capture) ([]Frame, End) {
	from := len(dst)
	if u.leafKeepsFramePointers(space, c) {
		chained, end := u.FromCallchain(dst, space, c)
		if end != Lost {
			return chained, end
		}
		dst = chained[:from]
	}
	dst, end := u.Unwind(dst, space, c)
	if end == Complete || len(u.pcs) == 0 {
		return dst, end
	}
	if i := u.meet(c.Chain); i >= 0 {
		return u.follow(dst, space, versionOf(space), c.Chain[i+1:], c.MaxStack-i-1)
	}
	return dst, end
}

func (u *Unwinder) leafKeepsFramePointers(space AddressSpace, c *Capture) bool {
	if len(c.Chain) == 0 {
		return false
	}
	p := u.lookup(space, versionOf(space), c.Chain[0])
	return p != nil && p.table != nil && p.table.framePointers
}

// meet finds the last unwound frame in the kernel's chain; -1 if it is not
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
