package value

import "github.com/ringtap/ringtap/internal/bpftrace/types"

// A total is the cell of min, max, avg and stats.
type total struct {
	n   uint64 // the value of min and max, the sum of avg and stats
	num uint64 // how many values were added
}

// number returns the cell's value as a number.
func (t *total) number(typ *types.Type) uint64 {
	switch {
	case typ.Kind == types.Min || typ.Kind == types.Max:
		return t.n
	case t.num == 0:
		return 0
	case typ.Signed:
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

// AddMin updates min() with n.
func (m *Map) AddMin(k Key, n uint64) { m.extreme(k, n, true) }

// AddMax updates max() with n.
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

// beats reports whether a is less than b, or greater if min is false.
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

// AddHist counts n in hist() or lhist().
func (m *Map) AddHist(k Key, n int64) {
	if cell, _, ok := m.cell(k); ok {
		m.bytes += m.buckets.at(cell).add(m.Scale.Index(n))
	}
}

// AddSeries adds n to tseries(), in the interval of now in nanoseconds.
func (m *Map) AddSeries(k Key, n, now uint64) {
	if cell, fresh, ok := m.cell(k); ok {
		s := m.series.at(cell)
		if fresh && s.points == nil {
			m.bytes += s.open(m.Spec.Count)
		}
		s.add(&m.Spec, n, now)
	}
}
