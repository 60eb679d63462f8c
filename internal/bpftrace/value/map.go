package value

import (
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// A Map is a map of a program, with values or aggregations by key. Only one goroutine may use it.
//
// Updates of existing keys do not allocate. Neither do new integer keys that reuse the cell of a
// deleted key.
type Map struct {
	Spec
	Dropped   Dropped
	Uncertain uint64 // uses of values that Doubt made uncertain

	ints  map[uint64]uint32 // cells of integer keys
	texts map[string]uint32 // cells of all other keys
	free  []uint32          // cells of deleted keys
	bytes int64             // approximate size of keys and cells in memory

	numbers slab[uint64] // cells of integers, count and sum
	values  slab[Value]  // cells of strings, tuples and all other values that are not aggregations
	totals  slab[total]  // cells of min, max, avg and stats
	buckets slab[buckets]
	series  slab[series]
	uses    *uses    // order of use, if the map is LRU
	doubted []uint64 // one bit for each cell: see Doubt
	late    lateCells
}

// New returns an empty map.
func New(spec Spec) *Map {
	m := &Map{Spec: spec}
	m.Clear()
	return m
}

// Len returns the number of keys.
func (m *Map) Len() int { return len(m.ints) + len(m.texts) }

// Bytes returns the approximate size of the map in memory.
func (m *Map) Bytes() int64 { return m.bytes }

// find returns the cell of a key, and counts as a use of it in an LRU map.
func (m *Map) find(k Key) (uint32, bool) {
	var cell uint32
	var ok bool
	if k.b == nil {
		cell, ok = m.ints[k.n]
	} else {
		cell, ok = m.texts[string(k.b)]
	}
	if ok && m.uses != nil {
		m.uses.touch(cell)
	}
	return cell, ok
}

// cell returns the cell of a key, which it creates if needed. ok is false if a limit of the map
// keeps the key out.
func (m *Map) cell(k Key) (cell uint32, fresh, ok bool) {
	if cell, ok := m.find(k); ok {
		if m.doubted != nil {
			m.sure(cell)
		}
		return cell, false, true
	}
	if !m.room(k) {
		m.Dropped.Keys++
		return 0, false, false
	}
	if n := len(m.free); n > 0 {
		cell = m.free[n-1]
		m.free = m.free[:n-1]
	} else {
		cell = m.grow()
	}
	if m.doubted != nil {
		m.sure(cell)
	}
	m.bytes += cost(k)
	if k.b == nil {
		m.ints[k.n] = cell
	} else {
		m.texts[string(k.b)] = cell
	}
	if m.uses != nil {
		m.uses.add(cell, k)
	}
	return cell, true, true
}

// cost returns the approximate size of a key and its cell in bytes.
func cost(k Key) int64 {
	if k.b == nil {
		return intKeyBytes + cellBytes
	}
	return textKeyBytes + cellBytes + int64(len(k.b))
}

// room reports whether one more key fits. An LRU map evicts its oldest key if it is full.
func (m *Map) room(k Key) bool {
	if m.MaxBytes > 0 && m.bytes+cost(k) > m.MaxBytes {
		return false
	}
	if m.MaxKeys == 0 || m.Len() < m.MaxKeys {
		return true
	}
	if m.uses == nil {
		return false
	}
	m.Delete(m.uses.oldest())
	m.Dropped.evicted++
	return true
}

// grow adds a cell for the map's kind of value.
func (m *Map) grow() uint32 {
	switch m.Value.Kind {
	case types.Count, types.Sum:
		return m.numbers.add()
	case types.Min, types.Max, types.Avg, types.Stats:
		return m.totals.add()
	case types.Hist, types.LHist:
		return m.buckets.add()
	case types.TSeries:
		return m.series.add()
	}
	if numeric(m.Value) {
		return m.numbers.add()
	}
	return m.values.add()
}

// Get returns the value of a key. If the key does not exist, it returns the zero Value, which is 0
// or "". For an aggregation it returns its number.
func (m *Map) Get(k Key) (Value, bool) {
	cell, ok := m.find(k)
	if !ok {
		return Value{}, false
	}
	if m.doubted != nil {
		m.use(cell)
	}
	return m.value(cell), true
}

// Has reports whether a key exists.
func (m *Map) Has(k Key) bool {
	cell, ok := m.find(k)
	if ok && m.doubted != nil {
		m.use(cell)
	}
	return ok
}

// value returns the value of a cell.
func (m *Map) value(cell uint32) Value {
	switch m.Value.Kind {
	case types.Min, types.Max, types.Avg, types.Stats:
		return Value{N: m.totals.at(cell).number(m.Value)}
	case types.Hist, types.LHist, types.TSeries:
		return Value{}
	}
	if numeric(m.Value) {
		return Value{N: *m.numbers.at(cell)}
	}
	return *m.values.at(cell)
}

// Set sets the value of a key. It returns false if a limit of the map keeps the key out. The map
// must not be an aggregation.
func (m *Map) Set(k Key, v Value) bool {
	cell, _, ok := m.cell(k)
	if !ok {
		return false
	}
	if numeric(m.Value) {
		*m.numbers.at(cell) = v.N
		m.late.numbers.remove(cell)
		return true
	}
	old := m.values.at(cell)
	m.bytes += payload(v) - payload(*old)
	*old = v
	return true
}

// Number returns a pointer to the integer of a key, which it creates as zero if needed. It returns
// nil if a limit of the map keeps the key out. The pointer is valid until the map's keys change. It
// is for ++, -- and assignment operators.
func (m *Map) Number(k Key) *uint64 {
	cell, _, ok := m.cell(k)
	if !ok {
		return nil
	}
	return m.numbers.at(cell)
}

// payload returns the number of bytes that a value has outside its cell.
func payload(v Value) int64 {
	n := int64(len(v.S))
	for _, e := range v.T {
		n += 48 + payload(e)
	}
	return n
}

// Delete deletes a key. It returns false if the key did not exist.
func (m *Map) Delete(k Key) bool {
	cell, ok := m.find(k)
	if !ok {
		return false
	}
	m.bytes -= cost(k) + m.reset(cell, true)
	m.late.keys.remove(cell)
	if m.uses != nil {
		m.uses.remove(cell)
	}
	if k.b == nil {
		delete(m.ints, k.n)
	} else {
		delete(m.texts, string(k.b))
	}
	m.free = append(m.free, cell)
	return true
}

// Clear deletes all keys.
func (m *Map) Clear() {
	m.ints, m.texts, m.free, m.bytes = nil, nil, nil, 0
	if Single(m.Keys) {
		m.ints = map[uint64]uint32{}
	} else {
		m.texts = map[string]uint32{}
	}
	m.numbers, m.values, m.totals = slab[uint64]{}, slab[Value]{}, slab[total]{}
	m.buckets, m.series = slab[buckets]{}, slab[series]{}
	m.uses, m.doubted, m.late = nil, nil, lateCells{}
	if m.LRU {
		m.uses = newUses()
	}
}

// Zero sets the value of every key to zero.
func (m *Map) Zero() {
	for _, cell := range m.ints {
		m.bytes -= m.reset(cell, false)
	}
	for _, cell := range m.texts {
		m.bytes -= m.reset(cell, false)
	}
}

// reset zeroes a cell and returns how many bytes that freed. Unless the key is gone, histograms and
// series keep their memory.
func (m *Map) reset(cell uint32, gone bool) int64 {
	m.late.numbers.remove(cell)
	switch m.Value.Kind {
	case types.Min, types.Max, types.Avg, types.Stats:
		*m.totals.at(cell) = total{}
		return 0
	case types.Hist, types.LHist:
		return m.buckets.at(cell).reset(gone)
	case types.TSeries:
		return m.series.at(cell).reset(gone)
	}
	if numeric(m.Value) {
		*m.numbers.at(cell) = 0
		return 0
	}
	old := m.values.at(cell)
	n := payload(*old)
	*old = Value{}
	return n
}
