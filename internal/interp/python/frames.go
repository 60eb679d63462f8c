package python

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/interp"
)

// code is what was read of a PyCodeObject, with the words of it that told where.
type code struct {
	head
	file, name string
	lines      []byte
}

// head is the words of a PyCodeObject that tell whether it still is the same.
type head struct {
	file, name, lines uint64
	first             int32
}

// shim tells whether the code is CPython's own, which no traceback shows: what stands
// between a class and its __init__ from 3.12 on has one string as its name and file.
func (h *head) shim() bool { return h.name == h.file }

// headOf is the words of a code object whose memory was read.
func (r *python) headOf(b []byte) head {
	word := func(at uint64) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
	return head{word(r.codeFile), word(r.codeName), word(r.codeLines), int32(binary.LittleEndian.Uint32(b[r.codeFirst:]))}
}

// cookie stands for the words: an even number, not 0.
func (h *head) cookie() uint64 {
	mixed := h.file
	for _, word := range [...]uint64{h.name, h.lines, uint64(uint32(h.first))} {
		mixed = (mixed ^ word) * 0x9e3779b97f4a7c15
		mixed ^= mixed >> 32
	}
	return mixed&^1 | 2
}

// maxCodes is how many code objects are remembered.
const maxCodes = 1 << 16

// Frames is of interp.Runtime.
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

// codeAt reads a code object, or what has changed of it.
func (r *python) codeAt(addr uint64) (*code, bool) {
	b := make([]byte, r.codeSize())
	if !r.memory.Read(addr, b) {
		return nil, false
	}
	word := func(at uint64) uint64 { return binary.LittleEndian.Uint64(b[at:]) }
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
		c.lines = r.bytes(h.lines) // a function without any has no lines
	}
	if len(r.codes) >= maxCodes {
		clear(r.codes)
	}
	r.codes[addr] = c
	return c, true
}

// line is the line of an instruction, 0 if it has none.
func (r *python) line(c *code, at int64) int {
	first := int(c.first)
	if at < 0 { // it has not begun
		return first
	}
	switch {
	case r.minor >= locations:
		return lineOfLocations(c.lines, first, at)
	case r.minor >= ranges:
		return lineOfRanges(c.lines, first, at)
	}
	return lineOfIncrements(c.lines, first, at)
}
