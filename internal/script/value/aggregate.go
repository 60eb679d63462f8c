package value

import "github.com/ringtap/ringtap/internal/script/types"

// A total is the cell of min, max, avg and stats.
type total struct {
	n   uint64 // of min and max the value, of avg and stats the sum
	num uint64 // how many values went in
}

// number returns the number that the cell stands for.
func (t *total) number(of *types.Type) uint64 {
	switch {
	case of.Kind == types.Min || of.Kind == types.Max:
		return t.n
	case t.num == 0:
		return 0
	case of.Signed:
		return uint64(int64(t.n) / int64(t.num))
	}
	return t.n / t.num
}

// AddCount adds one to count().
func (m *Map) AddCount(k Key) { m.AddSum(k, 1) }

// AddSum adds n to sum().
func (m *Map) AddSum(k Key, n uint64) {
	if cell, _, ok := m.cell(k); ok {
		*m.numbers.at(cell) += n
	}
}

// AddMin offers n to min().
func (m *Map) AddMin(k Key, n uint64) { m.extreme(k, n, true) }

// AddMax offers n to max().
func (m *Map) AddMax(k Key, n uint64) { m.extreme(k, n, false) }

func (m *Map) extreme(k Key, n uint64, min bool) {
	cell, _, ok := m.cell(k)
	if !ok {
		return
	}
	t := m.totals.at(cell)
	if t.num == 0 || beats(n, t.n, min, m.Value.Signed) {
		t.n = n
	}
	t.num++
}

// beats tells whether a is less than b, or for a maximum greater.
func beats(a, b uint64, min, signed bool) bool {
	if signed {
		return a != b && (int64(a) < int64(b)) == min
	}
	return a != b && (a < b) == min
}

// AddAvg adds n to avg() or stats().
func (m *Map) AddAvg(k Key, n uint64) {
	if cell, _, ok := m.cell(k); ok {
		t := m.totals.at(cell)
		t.n += n
		t.num++
	}
}

// AddHist counts n in hist().
func (m *Map) AddHist(k Key, n int64) {
	if cell, _, ok := m.cell(k); ok {
		m.bytes += m.buckets.at(cell).add(HistBucket(n, m.Bits))
	}
}

// AddLHist counts n in lhist().
func (m *Map) AddLHist(k Key, n int64) {
	if cell, _, ok := m.cell(k); ok {
		m.bytes += m.buckets.at(cell).add(LHistBucket(n, m.Min, m.Max, m.Step))
	}
}

// AddSeries adds n, seen at a time in nanoseconds, to tseries().
func (m *Map) AddSeries(k Key, n, now uint64) {
	if cell, fresh, ok := m.cell(k); ok {
		s := m.series.at(cell)
		if fresh && s.points == nil {
			m.bytes += s.open(m.Spec.Count)
		}
		s.add(&m.Spec, n, now)
	}
}
