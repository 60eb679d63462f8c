package callchain

// cacheBits gives 4096 places of 48 bytes: the code that a busy machine's
// samples meet over and over, in a quarter of a second-level cache.
const cacheBits = 12

// place is all that unwinding needs to know about one code address.
type place struct {
	at      uint64 // address looked up
	version uint64 // of the address space; zero: holds nothing
	frame   Frame
	set     *ruleSet // nil: by frame pointer
	table   *Table   // of the object; nil if it has none
}

// lookup finds the place of a code address; nil if it is not executable. The
// result is valid until the next lookup.
func (u *Unwinder) lookup(space AddressSpace, version, at uint64) *place {
	p := &u.cache[(at^version<<7)*0x9e3779b97f4a7c15>>(64-cacheBits)]
	if p.at == at && p.version == version && version != 0 {
		return p
	}
	return u.resolve(p, space, version, at)
}

// resolve fills a place from the address space.
func (u *Unwinder) resolve(p *place, space AddressSpace, version, at uint64) *place {
	m, ok := space.Find(at)
	if !ok || at < m.Start || at >= m.End {
		return nil
	}
	if version == 0 {
		p = &u.uncached
	}
	offset := at - m.Start + m.Offset
	*p = place{at: at, version: version, frame: Frame{Object: m.Object, Offset: offset}}
	if m.Table != nil && m.Table.arch == u.arch {
		p.table = m.Table
		p.set = m.Table.find(offset)
	}
	return p
}

// outermost reports whether the place is in a function that has no caller, or that has
// called another function and so has none any more.
func (p *place) outermost() bool {
	return p.isFirst() || p.set != nil && p.set.flags&flagFinal != 0
}

// isFirst reports whether the place is in a function that never has a caller.
func (p *place) isFirst() bool {
	return p.set != nil && p.set.ra.kind == ruleUndefined && p.set.flags&flagUnknown == 0
}

// keepsRecord says whether a walk of the frame records is right at this place.
// Code without a rule gets the benefit of the doubt: there is nothing better.
func (p *place) keepsRecord() bool {
	return p.set == nil || p.set.flags&flagRecord != 0
}
