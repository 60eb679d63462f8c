package python

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// code is what was read of a PyCodeObject, with the words that identify it.
type code struct {
	head
	file, name string
	lines      []byte
}

// head holds words of a PyCodeObject that change if another one takes its address.
type head struct {
	file, name, lines uint64
	first             int32
}

// shim reports whether the code is CPython's own, which no traceback shows. From 3.12 on, the
// code between a class and its __init__ has the same string as its name and its file.
func (h *head) shim() bool { return h.name == h.file }

// headOf returns the head of a code object whose memory is in b.
func (r *python) headOf(b []byte) head {
	word := func(offset uint64) uint64 { return binary.LittleEndian.Uint64(b[offset:]) }
	return head{word(r.codeFile), word(r.codeName), word(r.codeLines), int32(binary.LittleEndian.Uint32(b[r.codeFirst:]))}
}

// cookie returns a hash of the head: an even number, not 0.
func (h *head) cookie() uint64 {
	mixed := h.file
	for _, word := range [...]uint64{h.name, h.lines, uint64(uint32(h.first))} {
		mixed = (mixed ^ word) * 0x9e3779b97f4a7c15
		mixed ^= mixed >> 32
	}
	return mixed&^1 | 2
}

// maxCodes bounds the cached code objects.
const maxCodes = 1 << 16

// Frames implements interp.Runtime.
func (r *python) Frames(dst []interp.Frame, c interp.Call) ([]interp.Frame, bool) {
	code, ok := r.codeAt(c.Code)
	if !ok || c.Cookie != 0 && c.Cookie != code.cookie() {
		return dst, false
	}
	if code.shim() {
		return dst, true
	}
	return append(dst, interp.Frame{Function: code.name, File: code.file, Line: r.line(code, int64(c.At))}), true
}

// codeAt returns the code object at addr. It reads the strings again only if its head changed.
func (r *python) codeAt(addr uint64) (*code, bool) {
	b := make([]byte, r.codeSize())
	if !r.memory.Read(addr, b) {
		return nil, false
	}
	word := func(offset uint64) uint64 { return binary.LittleEndian.Uint64(b[offset:]) }
	if word(r.kind) != r.code {
		return nil, false
	}
	h := r.headOf(b)
	if c := r.codes[addr]; c != nil && c.head == h {
		return c, true
	}
	c := &code{head: h}
	var ok bool
	if !h.shim() {
		if c.name, ok = r.text(h.name); !ok {
			return nil, false
		}
		if c.file, ok = r.text(h.file); !ok {
			return nil, false
		}
		c.lines = r.bytes(h.lines) // a function without lines has none
	}
	if len(r.codes) >= maxCodes {
		clear(r.codes)
	}
	r.codes[addr] = c
	return c, true
}

// line returns the line of an instruction, or 0 if it has none. instr is the instruction's
// offset in bytes. It is negative if the function has not started yet.
func (r *python) line(c *code, instr int64) int {
	first := int(c.first)
	if instr < 0 {
		return first
	}
	switch {
	case r.minor >= locations:
		return lineOfLocations(c.lines, first, instr)
	case r.minor >= ranges:
		return lineOfRanges(c.lines, first, instr)
	}
	return lineOfIncrements(c.lines, first, instr)
}
