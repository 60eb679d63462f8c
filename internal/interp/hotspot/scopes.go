package hotspot

import "encoding/binary"

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
// information of its own. Where there is none, the method that was compiled is all.
func (r *Runtime) scopes(dst []scope, b *blob, pc uint64, exact bool) []scope {
	from := len(dst)
	d, ok := r.debugInfoOf(b)
	if !ok {
		return append(dst, scope{b.method, -1})
	}
	at, ok := r.decodeOffset(&d, uint32(pc-b.code), exact)
	for range maxInlined {
		if !ok || at == 0 {
			break
		}
		s := stream{mem: r.mem, at: d.scopes + uint64(at), biased: r.biased}
		sender, index, bci := s.unsigned(), s.unsigned(), int(s.unsigned())-1
		v := &view{mem: r.mem}
		method := v.u64(d.metadata + 8*(uint64(index)-1))
		if s.bad || v.bad || index == 0 || sender >= at || r.methodAt(method) == nil {
			return append(dst[:from], scope{b.method, -1})
		}
		dst = append(dst, scope{method, bci})
		at = sender
	}
	if len(dst) == from || dst[len(dst)-1].method != b.method {
		return append(dst[:from], scope{b.method, -1})
	}
	return dst
}

// decodeOffset searches the descriptions of places for the one of a distance from the
// code's begin, or for the next one.
func (r *Runtime) decodeOffset(d *debugInfo, distance uint32, exact bool) (uint32, bool) {
	l := r.layout
	b := make([]byte, l.pcDescSize)
	low, high := uint64(0), (d.pcsEnd-d.pcs)/l.pcDescSize
	n := high
	for low < high {
		middle := (low + high) / 2
		if !r.mem.Read(d.pcs+middle*l.pcDescSize, b) {
			return 0, false
		}
		if int32(half(b, l.pcOffset)) < int32(distance) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	if low == n || !r.mem.Read(d.pcs+low*l.pcDescSize, b) {
		return 0, false
	}
	if !exact && half(b, l.pcOffset) != distance {
		return 0, false
	}
	return half(b, l.decode), true
}

// place is a number of the place, for a map of what is known.
func place(b *blob, pc uint64, exact bool) [3]uint64 {
	var kind uint64
	if exact {
		kind = 1
	}
	return [3]uint64{pc, b.method ^ uint64(b.compileID)<<32, kind ^ binary.LittleEndian.Uint64(b.head)}
}
