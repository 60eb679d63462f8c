package python

import (
	"encoding/binary"
	"unicode/utf8"
)

// Bounds: characters of a name, bytes of a line table.
const (
	maxText  = 4096
	maxLines = 1 << 20
)

// text reads a str, cut to maxText characters. It returns false if there is none. Bytes that
// Python could not decode come out unchanged (PEP 383).
func (r *python) text(addr uint64) (string, bool) {
	b := make([]byte, r.ucs)
	if !r.memory.Read(addr, b) {
		return "", false
	}
	length := int64(binary.LittleEndian.Uint64(b[r.textLength:]))
	state := binary.LittleEndian.Uint32(b[r.textState:]) >> r.textKind
	kind, compact, ascii := int64(state&7), state>>3&1 != 0, state>>4&1 != 0
	if length < 0 || !compact || kind != 1 && kind != 2 && kind != 4 {
		return "", false
	}
	at := addr + r.ucs
	if ascii {
		at = addr + r.ascii
	}
	b = make([]byte, min(length, maxText)*kind)
	if !r.memory.Read(at, b) {
		return "", false
	}
	if ascii {
		return string(b), true
	}
	var out []byte
	for ; len(b) > 0; b = b[kind:] {
		var c uint32
		switch kind {
		case 1:
			c = uint32(b[0])
		case 2:
			c = uint32(binary.LittleEndian.Uint16(b))
		case 4:
			c = binary.LittleEndian.Uint32(b)
		}
		if 0xdc80 <= c && c <= 0xdcff {
			out = append(out, byte(c))
		} else {
			out = utf8.AppendRune(out, rune(min(c, utf8.MaxRune+1)))
		}
	}
	return string(out), true
}

// bytes reads a bytes object. It returns nil if there is none or it is too large.
func (r *python) bytes(addr uint64) []byte {
	var b [8]byte
	if !r.memory.Read(addr+r.bytesSize, b[:]) {
		return nil
	}
	n := binary.LittleEndian.Uint64(b[:])
	if n > maxLines {
		return nil
	}
	value := make([]byte, n)
	if !r.memory.Read(addr+r.bytesValue, value) {
		return nil
	}
	return value
}
