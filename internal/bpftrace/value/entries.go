package value

import (
	"cmp"
	"slices"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/profile/histogram"
)

// An Entry is a key that a map had when Entries was called. Its value is read only when it is asked
// for.
type Entry struct {
	m    *Map
	n    uint64
	text string
	cell uint32
}

// Key returns the parts of the key.
func (e *Entry) Key() []Value {
	if Single(e.m.Keys) {
		if len(e.m.Keys) == 0 {
			return nil
		}
		return []Value{{N: e.n}}
	}
	return decode(e.m.Keys, e.text)
}

// MapKey returns the key in the form that Map's methods take.
func (e *Entry) MapKey() Key {
	if Single(e.m.Keys) {
		return Key{n: e.n}
	}
	return Key{b: []byte(e.text)}
}

// Value returns the value. For an aggregation it returns its number.
func (e *Entry) Value() Value { return e.m.value(e.cell) }

// Stats returns the number and the sum of the values that were added to avg or stats.
func (e *Entry) Stats() (count, sum uint64) {
	t := e.m.totals.at(e.cell)
	return t.num, t.n
}

// Buckets returns the buckets of hist or lhist, from the first one with a hit to the last.
func (e *Entry) Buckets() []histogram.Bucket {
	b := e.m.buckets.at(e.cell)
	return e.m.Scale.Buckets(int(b.first), b.counts)
}

// A Point is one interval of a tseries.
type Point struct {
	Epoch uint64 // the interval's number: nanoseconds / Interval
	N     uint64
}

// Points returns the intervals of a tseries that have values, in time order.
func (e *Entry) Points() []Point {
	var points []Point
	for _, p := range e.m.series.at(e.cell).points {
		if p.num == 0 {
			continue
		}
		n := p.n
		if e.m.Agg == "avg" {
			if e.m.Series.Signed {
				n = uint64(int64(n) / int64(p.num))
			} else {
				n /= p.num
			}
		}
		points = append(points, Point{p.epoch, n})
	}
	slices.SortFunc(points, func(a, b Point) int { return cmp.Compare(a.Epoch, b.Epoch) })
	return points
}

// Entry returns the entry of a key. ok is false if the map does not have the key.
func (m *Map) Entry(k Key) (Entry, bool) {
	cell, ok := m.find(k)
	return Entry{m: m, n: k.n, text: string(k.b), cell: cell}, ok
}

// Entries returns all entries in the order in which bpftrace prints a map. Maps of numbers and
// aggregations are sorted by value, others by key.
func (m *Map) Entries() []Entry {
	entries := make([]Entry, 0, m.Len())
	for n, cell := range m.ints {
		entries = append(entries, Entry{m: m, n: n, cell: cell})
	}
	for text, cell := range m.texts {
		entries = append(entries, Entry{m: m, text: text, cell: cell})
	}
	m.sort(entries)
	return entries
}

// sort puts entries into print order. Entries with equal values are sorted by key.
func (m *Map) sort(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int {
		if c := m.compareValues(a.cell, b.cell); c != 0 {
			return c
		}
		return m.compareKeys(&a, &b)
	})
}

// compareValues compares two cells if the map is printed in the order of its values. Otherwise it
// returns 0.
func (m *Map) compareValues(a, b uint32) int {
	switch m.Value.Kind {
	case types.Hist, types.LHist:
		return cmp.Compare(m.buckets.at(a).sum(), m.buckets.at(b).sum())
	case types.Int, types.Count, types.Sum, types.Min, types.Max, types.Avg, types.Stats:
		return compareNumbers(m.Value.Signed, m.value(a).N, m.value(b).N)
	}
	return 0
}

func compareNumbers(signed bool, a, b uint64) int {
	if signed {
		return cmp.Compare(int64(a), int64(b))
	}
	return cmp.Compare(a, b)
}

// sum returns the number of values that were counted.
func (b *buckets) sum() uint64 {
	var sum uint64
	for _, n := range b.counts {
		sum += n
	}
	return sum
}

// compareKeys compares two keys part by part.
func (m *Map) compareKeys(a, b *Entry) int {
	if Single(m.Keys) {
		return compareNumbers(len(m.Keys) > 0 && m.Keys[0].Signed, a.n, b.n)
	}
	x, y := a.text, b.text
	for _, t := range m.Keys {
		var v, w Value
		v, x = decodePart(t, x)
		w, y = decodePart(t, y)
		if c := compareValue(t, v, w); c != 0 {
			return c
		}
	}
	return 0
}

func compareValue(t *types.Type, a, b Value) int {
	switch t.Kind {
	case types.Tuple, types.Record:
		for i, f := range t.Fields {
			if c := compareValue(f.Type, a.T[i], b.T[i]); c != 0 {
				return c
			}
		}
		return 0
	}
	if c := compareNumbers(t.Signed, a.N, b.N); c != 0 {
		return c
	}
	return cmp.Compare(a.S, b.S)
}

// LastEpoch returns the number of the latest interval of any key in a tseries map.
func (m *Map) LastEpoch() uint64 {
	var last uint64
	for i := range m.series.n {
		for _, p := range m.series.at(i).points {
			last = max(last, p.epoch)
		}
	}
	return last
}
