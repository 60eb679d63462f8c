package v8

import (
	"encoding/binary"
	"slices"
	"strings"
	"unicode/utf16"
)

// heap reads objects. What can't be read is zero, which is not an object.
type heap struct {
	mem *lines
	*layout
}

func (h *heap) u64(addr uint64) uint64 {
	var b [8]byte
	if !h.mem.Read(addr, b[:]) {
		return 0
	}
	return binary.LittleEndian.Uint64(b[:])
}

func (h *heap) u32(addr uint64) uint32 {
	var b [4]byte
	if !h.mem.Read(addr, b[:]) {
		return 0
	}
	return binary.LittleEndian.Uint32(b[:])
}

// object returns the address that a tagged word points to. It returns false for a small
// integer, a weak pointer, or an impossible address.
func object(word uint64) (addr uint64, ok bool) {
	return word - 1, word&3 == 1 && word > 4096 && word < 1<<48
}

// reference is a pointer to an object, with the address it was read from.
type reference struct{ at, word uint64 }

func (h *heap) reference(addr uint64) reference { return reference{addr, h.u64(addr)} }

// holds reports whether the word in memory is still the same.
func (h *heap) holds(r reference) bool { return h.u64(r.at) == r.word }

// small returns the small integer in a tagged word.
func small(word uint64) (n int64, ok bool) { return int64(word) >> 32, word&0xffffffff == 0 }

// typeOf returns an object's type, from its map.
func (h *heap) typeOf(addr uint64) uint16 {
	m, ok := object(h.u64(addr))
	if !ok {
		return noType
	}
	return uint16(h.u32(m + h.instanceType))
}

// typed returns the object that a word points to, if it has one of the types.
func (h *heap) typed(word uint64, types ...uint16) (addr uint64, ok bool) {
	if addr, ok = object(word); !ok {
		return 0, false
	}
	kind := h.typeOf(addr)
	return addr, kind != noType && slices.Contains(types, kind)
}

// field returns the object in a field of another object, if it has one of the types.
func (h *heap) field(addr, offset uint64, types ...uint16) (uint64, bool) {
	return h.typed(h.u64(addr+offset), types...)
}

const (
	maxText  = 512     // characters of a name
	maxCons  = 16      // nesting of strings made of other strings
	maxChars = 4 << 20 // characters of a script
)

// text reads a string, cut to limit characters. It returns false if there is none.
func (h *heap) text(addr uint64, limit int) (string, bool) {
	var b strings.Builder
	ok := h.appendText(&b, addr, 0, limit, maxCons)
	return b.String(), ok
}

// appendText appends a string's characters, starting at index from.
func (h *heap) appendText(b *strings.Builder, addr uint64, from, limit, depth int) bool {
	kind := h.typeOf(addr)
	if kind&h.notString != 0 || depth == 0 {
		return false
	}
	n := int(int32(h.u32(addr + h.stringLength)))
	if n < from {
		return n == 0
	}
	n = min(n-from, limit-b.Len())
	if n <= 0 {
		return true
	}
	one := kind&h.encoding == h.oneByteTag
	chars := addr + h.twoByte
	if one {
		chars = addr + h.oneByte
	}
	switch kind & h.representation {
	case h.seq:
	case h.external:
		// The pointer to the characters is cached after the resource.
		chars = h.u64(addr + h.resource + 8)
	case h.cons:
		first, ok := object(h.u64(addr + h.consFirst))
		second, ok2 := object(h.u64(addr + h.consFirst + 8))
		if !ok || !ok2 || from > 0 {
			return false
		}
		return h.appendText(b, first, 0, limit, depth-1) && h.appendText(b, second, 0, limit, depth-1)
	case h.sliced:
		parent, ok := object(h.u64(addr + h.slicedParent))
		offset, ok2 := small(h.u64(addr + h.slicedOffset))
		if !ok || !ok2 || offset < 0 || offset > maxChars {
			return false
		}
		return h.appendText(b, parent, from+int(offset), b.Len()+n, depth-1)
	case h.thinTag:
		to, ok := object(h.u64(addr + h.thin))
		return ok && h.appendText(b, to, from, limit, depth-1)
	default:
		return false
	}
	if one {
		raw := make([]byte, n)
		if !h.mem.Read(chars+uint64(from), raw) {
			return false
		}
		for _, c := range raw { // Latin-1
			b.WriteRune(rune(c))
		}
		return true
	}
	raw := make([]byte, 2*n)
	if !h.mem.Read(chars+2*uint64(from), raw) {
		return false
	}
	units := make([]uint16, n)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(raw[2*i:])
	}
	b.WriteString(string(utf16.Decode(units)))
	return true
}
