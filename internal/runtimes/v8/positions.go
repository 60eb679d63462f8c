package v8

const (
	maxBytecodes = 64 << 20 // largest offset in a function's bytecode
	maxPositions = 1 << 20  // size of a table, in bytes
)

// position returns the source position of a bytecode in the BytecodeArray that word points to.
// It returns -1 if the engine has not made a table of positions.
func (h *heap) position(word uint64, bytecode int64) int64 {
	array, ok := h.typed(word, h.isBytecodes)
	if !ok {
		return -1
	}
	table, ok := h.field(array, h.bytecodePositions, h.isBytes[:]...)
	if !ok {
		return -1
	}
	found := int64(-1)
	h.each(h.bytes(table), func(offset int64, raw uint64) bool {
		if offset > bytecode {
			return false
		}
		found, _ = decode(raw)
		return true
	})
	return found
}

// functionEntry is the offset before the first instruction. A function's own position may be
// there, and a table's first entry is relative to it.
const functionEntry = -1

// each calls yield with the entries of a table: an offset in the code, and a position
// (src/codegen/source-position-table.cc).
func (l *layout) each(b []byte, yield func(offset int64, raw uint64) bool) {
	at, position := int64(functionEntry), int64(0)
	for len(b) > 0 {
		var bits uint64
		var ok bool
		if bits, b, ok = number(b); !ok {
			return
		}
		at += int64(bits >> l.positionFlags) // without the flags
		if bits, b, ok = number(b); !ok {
			return
		}
		position += int64(bits>>1) ^ -int64(bits&1)
		if !yield(at, uint64(position)) {
			return
		}
	}
}

// number reads a number with seven bits per byte, lowest first.
func number(b []byte) (bits uint64, rest []byte, ok bool) {
	for shift := uint(0); len(b) > 0 && shift < 64; shift += 7 {
		c := b[0]
		b = b[1:]
		bits |= uint64(c&0x7f) << shift
		if c&0x80 == 0 {
			return bits, b, true
		}
	}
	return 0, nil, false
}

// decode splits a position into the character in the source and the index of the inlined call
// it belongs to, or -1 if none (src/codegen/source-position.h).
func decode(raw uint64) (character int64, inlined int) {
	return int64(raw>>1&(1<<30-1)) - 1, int(raw>>31&(1<<16-1)) - 1
}
