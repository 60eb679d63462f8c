package value

import "math/bits"

// Doubt makes the map's values uncertain, because a hit that would have changed or deleted them may
// have been lost. A key becomes certain again when it is set. Uncertain counts uses of uncertain
// values.
//
// Doubt does nothing for aggregations and for maps without keys. An aggregation only lacks what was
// lost.
func (m *Map) Doubt() {
	if m.Value.Kind.Aggregates() || len(m.Keys) == 0 {
		return
	}
	n := int(m.numbers.n + m.values.n) // only one of them has cells
	m.doubted = make([]uint64, (n+63)/64)
	for i := range m.doubted {
		m.doubted[i] = ^uint64(0)
	}
}

// use counts the use of a cell if it is uncertain.
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
