package ruby

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// callee identifies a call's function: its iseq, and the method that the walk found.
type callee struct{ iseq, method uint64 }

// method is what was read of an iseq, with the words that identify it.
type method struct {
	head
	label, path string
}

// head holds words of an iseq that change if another one takes its address.
type head struct{ body, code, label, path, owner uint64 }

// Offsets in an iseq and, the same in all releases, in its body, in bytes.
const (
	iseqBody = 16
	iseqSize = 24

	bodyType   = 0
	bodyLength = 4
	bodyCode   = 8
	bodyPath   = 64
	bodyLabel  = 80
	bodySize   = 208 // enough for all offsets in layout
)

// The kinds of objects, in the low bits of their flags, and the kinds of internal objects.
const (
	kindBits   = 0x1f
	isClass    = 2
	isModule   = 3
	isString   = 5
	isArray    = 7
	isInternal = 0x1a
	moreShift  = 12
	moreBits   = 15
	isVariable = 2 // vm_svar
	isMethod   = 6
	isISeq     = 7
)

func isInternalKind(flags, kind uint64) bool {
	return flags&kindBits == isInternal && flags>>moreShift&moreBits == kind
}

// maxKnown bounds the cached methods.
const maxKnown = 1 << 16

// Frames implements interp.Runtime.
func (r *ruby) Frames(dst []interp.Frame, c interp.Call) ([]interp.Frame, bool) {
	var body [bodySize]byte
	h, ok := r.iseq(c.Code, &body)
	if !ok {
		return dst, false
	}
	if r.qualified {
		h.owner = r.owner(c.Cookie)
	}
	of := callee{c.Code, c.Cookie}
	m := r.known[of]
	if m == nil || m.head != h {
		m = &method{head: h}
		if m.label, ok = r.labelOf(&body, c.Code, h.owner); !ok {
			return dst, false
		}
		if m.path, ok = r.pathOf(h.path); !ok {
			return dst, false
		}
		if len(r.known) >= maxKnown {
			clear(r.known)
		}
		r.known[of] = m
	}
	return append(dst, interp.Frame{Function: m.label, File: m.path, Line: r.line(&body, c.At)}), true
}

// iseq reads the body of an iseq.
func (r *ruby) iseq(addr uint64, body *[bodySize]byte) (h head, ok bool) {
	var iseq [iseqSize]byte
	if !r.memory.Read(addr, iseq[:]) || !isInternalKind(binary.LittleEndian.Uint64(iseq[:]), isISeq) {
		return h, false
	}
	h.body = binary.LittleEndian.Uint64(iseq[iseqBody:])
	if !r.memory.Read(h.body, body[:max(r.bodyCount, r.bodyIndex, r.bodyLocal)+8]) {
		return h, false
	}
	h.code, h.label, h.path = word(body, bodyCode), word(body, bodyLabel), word(body, bodyPath)
	return h, true
}

func word(body *[bodySize]byte, off uint64) uint64 { return binary.LittleEndian.Uint64(body[off:]) }

// pathOf reads a path: a string, or the first element of an array of two.
func (r *ruby) pathOf(addr uint64) (string, bool) {
	var b [40]byte
	if !r.memory.Read(addr, b[:]) {
		return "", false
	}
	flags := binary.LittleEndian.Uint64(b[:])
	if flags&kindBits == isArray {
		const inside = 1 << 13
		at := addr + 16
		if flags&inside == 0 {
			at = binary.LittleEndian.Uint64(b[32:])
		}
		var ok bool
		if addr, ok = r.word(at, b[:]); !ok {
			return "", false
		}
	}
	return r.text(addr)
}

// maxText bounds names, in bytes.
const maxText = 4096

// text reads a String, cut to maxText. It returns false if there is none.
func (r *ruby) text(addr uint64) (string, bool) {
	var b [32]byte
	if !r.memory.Read(addr, b[:]) {
		return "", false
	}
	flags := binary.LittleEndian.Uint64(b[:])
	if flags&kindBits != isString {
		return "", false
	}
	const outside = 1 << 13
	at, n := addr+r.stringText, flags>>14&0x1f
	if r.stringLength != 0 || flags&outside != 0 {
		n = binary.LittleEndian.Uint64(b[16:])
	}
	if flags&outside != 0 {
		at = binary.LittleEndian.Uint64(b[24:])
	}
	text := make([]byte, min(n, maxText))
	ok := r.memory.Read(at, text)
	return string(text), ok
}
