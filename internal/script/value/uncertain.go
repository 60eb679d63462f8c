package value

import "math/bits"

// Doubt makes what is in the map uncertain: a hit that would have changed or deleted it may have
// been lost. A key that is set again is certain again. Uses of what is uncertain are counted in
// Uncertain.
//
// Only values that are set are doubted, by their keys: an aggregation lacks what was lost, and no
// more.
func (m *Map) Doubt() {
	if m.Value.Kind.Aggregates() || len(m.Keys) == 0 {
		return
	}
	n := int(m.numbers.n + m.values.n) // one of them has cells
	m.doubted = make([]uint64, (n+63)/64)
	for i := range m.doubted {
		m.doubted[i] = ^uint64(0)
	}
}

// use counts the use of a cell that is uncertain.
func (m *Map) use(cell uint32) {
	if i := int(cell / 64); i < len(m.doubted) && m.doubted[i]>>(cell%64)&1 != 0 {
		m.Uncertain++
	}
}

// sure makes a cell certain.
func (m *Map) sure(cell uint32) {
	if i := int(cell / 64); i < len(m.doubted) {
		m.doubted[i] &= bits.RotateLeft64(^uint64(1), int(cell%64))
	}
}
