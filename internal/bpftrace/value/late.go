package value

import "math/bits"

// lateCells records which cells of a map came from memory that was read later than its hit.
type lateCells struct {
	keys, numbers cells // nil until the first one
}

// cells is a set of cells, with one bit for each.
type cells []uint64

func (c *cells) add(cell uint32) {
	for int(cell/64) >= len(*c) {
		*c = append(*c, 0)
	}
	(*c)[cell/64] |= 1 << (cell % 64)
}

func (c cells) remove(cell uint32) {
	if i := int(cell / 64); i < len(c) {
		c[i] &= bits.RotateLeft64(^uint64(1), int(cell%64))
	}
}

func (c cells) has(cell uint32) bool {
	i := int(cell / 64)
	return i < len(c) && c[i]>>(cell%64)&1 != 0
}

// MarkKey marks a key that was read later than its hit. It stays marked until it is deleted,
// because other hits that read the same key in time cannot be told apart.
func (m *Map) MarkKey(k Key) {
	if cell, ok := m.find(k); ok {
		m.late.keys.add(cell)
	}
}

// MarkNumber marks the number of a key as read later than its hit. It stays marked until it is set
// or deleted. An aggregation is marked if any number that was added to it was late.
func (m *Map) MarkNumber(k Key) {
	if cell, ok := m.find(k); ok {
		m.late.numbers.add(cell)
	}
}

// IsLate reports whether the number of a key is marked (see MarkNumber).
func (m *Map) IsLate(k Key) bool {
	if m.late.numbers == nil {
		return false
	}
	cell, ok := m.find(k)
	return ok && m.late.numbers.has(cell)
}

// IsKeyLate reports whether the key is marked (see Map.MarkKey).
func (e *Entry) IsKeyLate() bool { return e.m.late.keys.has(e.cell) }

// IsLate reports whether the number is marked (see Map.MarkNumber).
func (e *Entry) IsLate() bool { return e.m.late.numbers.has(e.cell) }
