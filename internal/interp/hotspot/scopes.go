package hotspot

// scope is one method at a place of compiled code: the one that was compiled, or one that
// was inlined.
type scope struct {
	method uint64
	bci    int
}

const (
	maxInlined = 64      // levels of inlining at one place
	maxPcDescs = 1 << 20 // places of a method's code that have debug information
)

// debugInfo is where the debug information of a compiled method lies.
type debugInfo struct {
	pcs, pcsEnd, scopes uint64 // addresses
	metadata            uint64 // address of the methods that the scopes name by number, from 1 on
}

// debugInfoOf finds the debug information of a compiled method. Its order in memory is
// that of src/hotspot/share/code/nmethod.hpp of each version.
func (r *Runtime) debugInfoOf(b *blob) (debugInfo, bool) {
	l := r.layout
	base := b.addr
	if l.immutable != absent {
		base = word(b.head, l.immutable)
	}
	var d debugInfo
	d.pcs = base + uint64(half(b.head, l.scopesPCs))
	switch {
	case l.scopesBegin != absent:
		d.scopes = word(b.head, l.scopesBegin)
	case l.scopesData != absent:
		d.scopes = base + uint64(half(b.head, l.scopesData))
	}
	switch {
	case l.immutable != absent:
		d.pcsEnd = d.scopes
	case l.scopesEnd != absent:
		d.pcsEnd = base + uint64(half(b.head, l.scopesEnd))
	}
	switch {
	case l.metadata != absent:
		d.metadata = b.addr + uint64(half(b.head, l.metadata))
	case l.mutable != absent && l.relocation != absent:
		d.metadata = word(b.head, l.mutable) + uint64(half(b.head, l.relocation))
	}
	n := d.pcsEnd - d.pcs
	return d, d.pcs != 0 && d.scopes != 0 && d.metadata != 0 && n/l.pcDescSize <= maxPcDescs && n >= l.pcDescSize
}

// scopes appends the methods at a place of compiled code, innermost first. exact says
// that the place was interrupted; else it is a return address, whose call has debug
// information of its own. An interrupted place has it seldom: it is in what the places
// before and after it have in common, from the outermost on. Where there is none, the
// method that was compiled is all.
func (r *Runtime) scopes(dst []scope, b *blob, pc uint64, exact bool) []scope {
	own := scope{b.method, -1}
	d, ok := r.debugInfoOf(b)
	if !ok {
		return append(dst, own)
	}
	before, after, is := r.places(&d, uint32(pc-b.code))
	if !exact && !is {
		return append(dst, own)
	}
	from := len(dst)
	dst = r.decode(dst, &d, after)
	if len(dst) == from || dst[len(dst)-1].method != b.method {
		return append(dst[:from], own)
	}
	if is {
		return dst
	}
	var other [maxInlined]scope
	n := common(dst[from:], r.decode(other[:0], &d, before))
	if n == 0 {
		return append(dst[:from], own)
	}
	return append(dst[:from], dst[len(dst)-n:]...)
}

// common is how many of the outermost scopes two places have in common. Where they are
// at different bytecodes of one method, they part there.
func common(a, b []scope) int {
	n := 0
	for n < len(a) && n < len(b) {
		x, y := a[len(a)-1-n], b[len(b)-1-n]
		if x.method != y.method {
			break
		}
		n++
		if x.bci != y.bci {
			break
		}
	}
	return n
}

// decode appends the scopes that are described at an offset of the debug information,
// innermost first; nothing if they make no sense.
func (r *Runtime) decode(dst []scope, d *debugInfo, at uint32) []scope {
	from := len(dst)
	for n := 0; at != 0; n++ {
		s := stream{mem: r.mem, at: d.scopes + uint64(at), biased: r.biased}
		sender, index, bci := s.unsigned(), s.unsigned(), int(s.unsigned())-1
		v := &view{mem: r.mem}
		method := v.u64(d.metadata + 8*(uint64(index)-1))
		if s.bad || v.bad || index == 0 || sender >= at || n == maxInlined || r.methodAt(method) == nil {
			return dst[:from]
		}
		dst = append(dst, scope{method, bci})
		at = sender
	}
	return dst
}

// places searches the descriptions of places for those around a distance from the code's
// begin, and tells whether the later one is of that very place. It returns where in the
// debug information they are described, 0 for nowhere.
func (r *Runtime) places(d *debugInfo, distance uint32) (before, after uint32, is bool) {
	l := r.layout
	b := make([]byte, l.pcDescSize)
	low, high := uint64(0), (d.pcsEnd-d.pcs)/l.pcDescSize
	n := high
	for low < high {
		middle := (low + high) / 2
		if !r.mem.Read(d.pcs+middle*l.pcDescSize, b) {
			return 0, 0, false
		}
		if int32(half(b, l.pcOffset)) < int32(distance) {
			low, before = middle+1, half(b, l.decode)
		} else {
			high = middle
		}
	}
	if low == n || !r.mem.Read(d.pcs+low*l.pcDescSize, b) {
		return 0, 0, false
	}
	return before, half(b, l.decode), half(b, l.pcOffset) == distance
}

// key is a number of the place, for a map of what is known.
func key(b *blob, pc uint64, exact bool) [3]uint64 {
	var kind uint64
	if exact {
		kind = 1
	}
	return [3]uint64{pc, b.method ^ uint64(b.compileID)<<32, kind ^ word(b.head, 0)}
}
