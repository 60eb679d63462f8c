package hotspot

// scope is one method at a place of compiled code: the compiled method itself, or an inlined
// one.
type scope struct {
	method uint64
	bci    int
}

const (
	maxInlined = 64      // levels of inlining at one place
	maxPcDescs = 1 << 20 // places of a method's code with debug information
)

// debugInfo says where a compiled method's debug information is.
type debugInfo struct {
	pcs, pcsEnd, scopes uint64 // addresses
	metadata            uint64 // address of the array of methods; scopes refer to them by number, from 1
}

// debugInfoOf finds a compiled method's debug information. Its order in memory depends on the
// version (src/hotspot/share/code/nmethod.hpp).
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

// scopes appends the methods at a place of compiled code, innermost first. If exact is false,
// pc is a return address, and calls have their own debug information. If exact is true, the
// place was interrupted and rarely has any. Then the result is what the described places before
// and after it have in common, from the outermost method on. Without any debug information it
// is the compiled method alone.
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

// common returns how many of the outermost scopes two places have in common. It stops after a
// method in which they are at different bytecodes.
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

// decode appends the scopes described at an offset of the debug information, innermost first.
// It appends nothing if they make no sense.
func (r *Runtime) decode(dst []scope, d *debugInfo, offset uint32) []scope {
	from := len(dst)
	for n := 0; offset != 0; n++ {
		s := stream{mem: r.mem, at: d.scopes + uint64(offset), biased: r.biased}
		sender, index, bci := s.unsigned(), s.unsigned(), int(s.unsigned())-1
		v := &view{mem: r.mem}
		method := v.u64(d.metadata + 8*(uint64(index)-1))
		if s.bad || v.bad || index == 0 || sender >= offset || n == maxInlined || r.methodAt(method) == nil {
			return dst[:from]
		}
		dst = append(dst, scope{method, bci})
		offset = sender
	}
	return dst
}

// places finds the described places just before and at or after a distance from the code's
// start. is reports whether the second one is exactly there. It returns the offsets of their
// descriptions in the debug information, or 0 if there are none.
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

// key returns the key of a place in Runtime.known.
func key(b *blob, pc uint64, exact bool) [3]uint64 {
	var kind uint64
	if exact {
		kind = 1
	}
	return [3]uint64{pc, b.method ^ uint64(b.compileID)<<32, kind ^ word(b.head, 0)}
}
