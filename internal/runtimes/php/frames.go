package php

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// function is what was read of a zend_function, with the words that identify it.
type function struct {
	head
	text, path string
}

// head holds words of a zend_function that change if another one takes its address.
type head struct {
	kind              byte
	name, scope, file uint64
	first, last       uint32 // lines
}

// Kinds of functions: written in C, written in PHP, passed to eval().
const (
	internal = 1
	user     = 2
	eval     = 4
)

// maxKnown bounds the cached functions.
const maxKnown = 1 << 16

// Frames implements interp.Runtime.
func (r *php) Frames(dst []interp.Frame, c interp.Call) ([]interp.Frame, bool) {
	f, ok := r.function(c.Code)
	if !ok {
		return dst, false
	}
	frame := interp.Frame{Function: f.text, File: f.path}
	if f.kind != internal {
		var op [opSize]byte
		if !r.memory.Read(c.At, op[:]) {
			return dst, false
		}
		if line := binary.LittleEndian.Uint32(op[opLine:]); f.first <= line && line <= f.last {
			frame.Line = int(line)
		}
	}
	return append(dst, frame), true
}

// function returns the function at addr. It reads the strings again only if its head changed.
func (r *php) function(addr uint64) (*function, bool) {
	b := make([]byte, r.file+16)
	if !r.memory.Read(addr, b[:functionScope+8]) {
		return nil, false
	}
	word := func(offset uint64) uint64 { return binary.LittleEndian.Uint64(b[offset:]) }
	h := head{kind: b[0], name: word(functionName), scope: word(functionScope)}
	switch h.kind {
	case internal:
	case user, eval:
		if !r.memory.Read(addr, b) {
			return nil, false
		}
		h.file = word(r.file)
		h.first, h.last = binary.LittleEndian.Uint32(b[r.file+8:]), binary.LittleEndian.Uint32(b[r.file+12:])
	default:
		return nil, false
	}
	if f := r.known[addr]; f != nil && f.head == h {
		return f, true
	}
	f := &function{head: h, text: "{main}"}
	var ok bool
	if h.name != 0 {
		if f.text, ok = r.string(h.name); !ok {
			return nil, false
		}
	} else if h.kind == eval {
		f.text = "eval"
	}
	if h.scope != 0 && h.name != 0 {
		class, ok := r.class(h.scope)
		if !ok {
			return nil, false
		}
		f.text = class + "::" + f.text
	}
	if h.kind != internal {
		if f.path, ok = r.string(h.file); !ok {
			return nil, false
		}
	}
	if len(r.known) >= maxKnown {
		clear(r.known)
	}
	r.known[addr] = f
	return f, true
}

// class returns the name of a zend_class_entry.
func (r *php) class(addr uint64) (string, bool) {
	var b [8]byte
	if !r.memory.Read(addr+className, b[:]) {
		return "", false
	}
	return r.string(binary.LittleEndian.Uint64(b[:]))
}

// maxText bounds names, in bytes.
const maxText = 4096

// string reads a zend_string, cut to maxText. It returns false if there is none. The name of an
// anonymous class contains a NUL, followed by the place of its definition.
func (r *php) string(addr uint64) (string, bool) {
	var h [stringValue]byte
	if !r.memory.Read(addr, h[:]) {
		return "", false
	}
	const isString = 6
	if h[stringKind]&15 != isString {
		return "", false
	}
	b := make([]byte, min(binary.LittleEndian.Uint64(h[stringLength:]), maxText))
	ok := r.memory.Read(addr+stringValue, b)
	return string(b), ok
}
