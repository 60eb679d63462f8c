package callchain

// cacheBits gives 4096 places of 48 bytes: a quarter of a second-level cache, for the code that
// most samples of a busy machine hit.
const cacheBits = 12

// place is everything unwinding needs to know about one code address.
type place struct {
	at      uint64 // the address that was looked up
	version uint64 // of the address space; zero: the place is empty
	frame   Frame
	set     *ruleSet // nil: step by frame pointer
	table   *Table   // the object's table; nil if it has none
}

// lookup returns the place of the code at pc, or nil if pc is not executable. The
// result is valid until the next lookup.
func (u *Unwinder) lookup(space AddressSpace, version, pc uint64) *place {
	p := &u.cache[(pc^version<<7)*0x9e3779b97f4a7c15>>(64-cacheBits)]
	if p.at == pc && p.version == version && version != 0 {
		return p
	}
	return u.resolve(p, space, version, pc)
}

// resolve finds pc in the address space and stores its place in p, or in u.uncached if
// version is 0.
func (u *Unwinder) resolve(p *place, space AddressSpace, version, pc uint64) *place {
	m, ok := space.Find(pc)
	if !ok || pc < m.Start || pc >= m.End {
		return nil
	}
	if version == 0 {
		p = &u.uncached
	}
	offset := pc - m.Start + m.Offset
	*p = place{at: pc, version: version, frame: Frame{Object: m.Object, Offset: offset}}
	if m.Table != nil && m.Table.arch == u.arch {
		p.table = m.Table
		p.set = m.Table.find(offset)
	}
	return p
}

// outermost reports whether the place is in a function without a caller: one that never has
// one, or one that has left its goroutine with a call (flagFinal).
func (p *place) outermost() bool {
	return p.isFirst() || p.set != nil && p.set.flags&flagFinal != 0
}

// isFirst reports whether the place is in a function that never has a caller.
func (p *place) isFirst() bool {
	return p.set != nil && p.set.ra.kind == ruleUndefined && p.set.flags&flagUnknown == 0
}

// keepsRecord reports whether a walk of the frame records is right at this place. Code without
// a rule gets the benefit of the doubt: there is nothing better.
func (p *place) keepsRecord() bool {
	return p.set == nil || p.set.flags&flagRecord != 0
}
