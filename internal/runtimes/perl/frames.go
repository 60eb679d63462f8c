package perl

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// Offsets in the structures with names and lines, in bytes.
const (
	copLine = 36 // COP
	copFile = 48
	copSize = 56

	svFlags = 12 // SV: its type is in the low byte of the flags
	svBody  = 0
	svUnion = 16 // in a GV: its GP; in an HV: its array
	svSize  = 24

	cvStash = 32 // XPVCV
	cvName  = 56
	cvFlags = 92
	cvSize  = 96

	gvName  = 32 // XPVGV: the name and the package
	gvStash = 40
	gpGV    = 56 // GP.gp_egv: the original GV

	hvMax    = 24 // XPVHV.xhv_max
	auxName  = 0  // xpvhv_aux: the name, or the address of several names
	auxCount = 28
	auxSize  = 32

	hekLength = 4 // HEK
	hekText   = 8
)

// Types of SVs, and a flag of CVs.
const (
	isGV  = 9
	isHV  = 12
	isCV  = 13
	isFM  = 14
	named = 0x8000 // the CV itself has a name
)

// maxText bounds names, in bytes.
const maxText = 4096

// function is a name that was read, with the words that lead to it.
type function struct {
	body, where, flags uint64
	text               string
}

// maxKnown bounds the cached functions.
const maxKnown = 1 << 16

// Frames implements interp.Runtime.
func (r *perl) Frames(dst []interp.Frame, c interp.Call) ([]interp.Frame, bool) {
	f := interp.Frame{}
	switch c.Code {
	case evaluated:
		f.Function = "(eval)"
	case program:
		f.Function = "{main}"
	default:
		var ok bool
		if f.Function, ok = r.function(c.Code); !ok {
			return dst, false
		}
	}
	var ok bool
	if f.File, f.Line, ok = r.place(place{c.At, c.Cookie}); !ok {
		return dst, false
	}
	return append(dst, f), true
}

// place returns the file and line of p.
func (r *perl) place(p place) (file string, line int, ok bool) {
	var b [copSize]byte
	if !r.memory.Read(r.statement(p), b[:]) {
		return "", 0, false
	}
	if at := binary.LittleEndian.Uint64(b[copFile:]); at != 0 {
		if file, ok = r.cString(at); !ok {
			return "", 0, false
		}
	}
	return file, int(binary.LittleEndian.Uint32(b[copLine:])), true
}

// function returns the name of a CV.
func (r *perl) function(addr uint64) (string, bool) {
	body, ok := r.body(addr, isCV, isFM)
	if !ok {
		return "", false
	}
	var b [cvSize]byte
	if !r.memory.Read(body, b[:]) {
		return "", false
	}
	f := &function{body: body, where: binary.LittleEndian.Uint64(b[cvName:]), flags: uint64(binary.LittleEndian.Uint32(b[cvFlags:]))}
	if known := r.names[addr]; known != nil && known.body == f.body && known.where == f.where && known.flags == f.flags {
		return known.text, true
	}
	switch {
	case f.where == 0:
		f.text, ok = "__ANON__", true
	case f.flags&named != 0:
		f.text, ok = r.full(binary.LittleEndian.Uint64(b[cvStash:]), f.where)
	default:
		f.text, ok = r.glob(f.where)
	}
	if !ok {
		return "", false
	}
	if len(r.names) >= maxKnown {
		clear(r.names)
	}
	r.names[addr] = f
	return f.text, true
}

// glob returns the name of a GV, or of the GV that it is an alias of.
func (r *perl) glob(addr uint64) (string, bool) {
	var b [svSize]byte
	if !r.memory.Read(addr, b[:]) {
		return "", false
	}
	if original, ok := r.word(binary.LittleEndian.Uint64(b[svUnion:]) + gpGV); ok && original != 0 {
		addr = original
	}
	body, ok := r.body(addr, isGV, isGV)
	if !ok {
		return "", false
	}
	name, ok := r.word(body + gvName)
	if !ok {
		return "", false
	}
	stash, ok := r.word(body + gvStash)
	if !ok {
		return "", false
	}
	return r.full(stash, name)
}

// full returns a function's name with its package.
func (r *perl) full(stash, name uint64) (string, bool) {
	text, ok := r.key(name)
	if !ok || stash == 0 {
		return text, ok
	}
	body, ok := r.body(stash, isHV, isHV)
	if !ok {
		return "", false
	}
	aux := body + r.stashAux
	if r.stashAux == 0 {
		last, ok := r.word(body + hvMax)
		if !ok {
			return "", false
		}
		array, ok := r.word(stash + svUnion)
		if !ok {
			return "", false
		}
		aux = array + 8*(last+1)
	}
	var b [auxSize]byte
	if !r.memory.Read(aux, b[:]) {
		return "", false
	}
	at := binary.LittleEndian.Uint64(b[auxName:])
	switch count := int32(binary.LittleEndian.Uint32(b[auxCount:])); {
	case count == -1:
		at = 0
	case count < -1:
		at, ok = r.word(at + 8)
	case count > 0:
		at, ok = r.word(at)
	}
	if !ok || at == 0 {
		return text, ok
	}
	stashName, ok := r.key(at)
	return stashName + "::" + text, ok
}

// body returns the address of an SV's body. The SV must have one of the two types.
func (r *perl) body(addr uint64, one, other byte) (uint64, bool) {
	var b [svSize]byte
	if !r.memory.Read(addr, b[:]) || b[svFlags] != one && b[svFlags] != other {
		return 0, false
	}
	return binary.LittleEndian.Uint64(b[svBody:]), true
}

// key reads the text of a HEK, cut to maxText.
func (r *perl) key(addr uint64) (string, bool) {
	var h [hekText]byte
	if !r.memory.Read(addr, h[:]) {
		return "", false
	}
	n := int32(binary.LittleEndian.Uint32(h[hekLength:]))
	b := make([]byte, min(max(n, 0), maxText))
	ok := r.memory.Read(addr+hekText, b)
	return string(b), ok
}

// cString reads a NUL-terminated string, cut to maxText.
func (r *perl) cString(addr uint64) (string, bool) {
	var text []byte
	var b [64]byte
	for len(text) < maxText {
		part := b[:64-(addr+uint64(len(text)))%64] // within a page
		if !r.memory.Read(addr+uint64(len(text)), part) {
			return "", false
		}
		for _, c := range part {
			if c == 0 {
				return string(text), true
			}
			text = append(text, c)
		}
	}
	return string(text), true
}

func (r *perl) word(addr uint64) (uint64, bool) {
	var b [8]byte
	ok := r.memory.Read(addr, b[:])
	return binary.LittleEndian.Uint64(b[:]), ok
}
