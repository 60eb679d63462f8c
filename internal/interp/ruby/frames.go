package ruby

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/interp"
)

// method is what was read of an iseq, with the words of it that told where.
type method struct {
	head
	label, path string
}

// head is the words of an iseq that tell whether it still is the same.
type head struct{ body, code, label, path uint64 }

// An iseq, and its body, in bytes.
const (
	iseqBody = 16
	iseqSize = 24

	bodyLength = 4
	bodyCode   = 8
	bodyPath   = 64
	bodyLabel  = 80
	bodyLines  = 120
	bodyCount  = 136
	bodyIndex  = 144
	bodySize   = 152
)

// The kinds of objects, in the low bits of their flags, and what kind of internal one an
// iseq is.
const (
	kindBits   = 0x1f
	isString   = 5
	isArray    = 7
	isInternal = 0x1a
	iseqShift  = 12
	iseqBits   = 15
	isISeq     = 7
)

// maxKnown is how many methods are remembered.
const maxKnown = 1 << 16

// Frames is of interp.Runtime.
func (r *ruby) Frames(dst []interp.Frame, c interp.Call) ([]interp.Frame, bool) {
	var iseq [iseqSize]byte
	if !r.memory.Read(c.Code, iseq[:]) {
		return dst, false
	}
	flags := binary.LittleEndian.Uint64(iseq[:])
	if flags&kindBits != isInternal || flags>>iseqShift&iseqBits != isISeq {
		return dst, false
	}
	var body [bodySize]byte
	h := head{body: binary.LittleEndian.Uint64(iseq[iseqBody:])}
	if !r.memory.Read(h.body, body[:]) {
		return dst, false
	}
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(body[at:]) }
	h.code, h.label, h.path = word(bodyCode), word(bodyLabel), word(bodyPath)
	m := r.known[c.Code]
	if m == nil || m.head != h {
		m = &method{head: h}
		var ok bool
		if m.label, ok = r.text(h.label); !ok {
			return dst, false
		}
		if m.path, ok = r.pathOf(h.path); !ok {
			return dst, false
		}
		if len(r.known) >= maxKnown {
			clear(r.known)
		}
		r.known[c.Code] = m
	}
	return append(dst, interp.Frame{Function: m.label, File: m.path, Line: r.line(&body, c.At)}), true
}

// pathOf reads a path, which is a string, or the first of an array of two.
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

// text reads a String, cut to maxText; false if there is none.
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
	at, n := addr+16, flags>>14&0x1f
	if flags&outside != 0 {
		n, at = binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
	}
	text := make([]byte, min(n, maxText))
	ok := r.memory.Read(at, text)
	return string(text), ok
}
