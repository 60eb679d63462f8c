package show

import (
	"math"
	"strconv"

	"github.com/ringtap/ringtap/internal/bpftrace/value"
	"github.com/ringtap/ringtap/internal/profile/histogram"
)

// buckets returns the buckets of an entry's histogram.
func (p *Printer) buckets(m *value.Map, e *value.Entry) []histogram.Bucket {
	buckets := e.Buckets()
	if n := len(buckets); n > 0 && isLast(m, buckets[n-1]) && !p.Dialect.Singles {
		buckets[n-1].Low = m.Max
	}
	return buckets
}

// isLast reports whether b is the bucket of lhist without an upper bound.
func isLast(m *value.Map, b histogram.Bucket) bool {
	_, linear := m.Scale.IsLinear()
	return linear && b.High == math.MaxInt64
}

// hist appends a histogram. Its counts are divided by div, its bars are not.
func (p *Printer) hist(b []byte, m *value.Map, e *value.Entry, div uint64) []byte {
	label := m.Scale.Label
	if step, linear := m.Scale.IsLinear(); linear {
		div = 1
		bound := func(n int64) string { return p.linearBound(n, step) }
		label = func(b histogram.Bucket) string { return m.Scale.Interval(b, bound, p.Dialect.Singles) }
	}
	return histogram.Append(b, p.buckets(m, e), div, label)
}

// linearBound returns a bound of lhist as text.
func (p *Printer) linearBound(n, step int64) string {
	switch {
	case n == 0 || !p.Dialect.Units && step%1024 != 0:
	case n%(1<<20) == 0:
		return strconv.FormatInt(n>>20, 10) + "M"
	case n%(1<<10) == 0:
		return strconv.FormatInt(n>>10, 10) + "K"
	}
	return strconv.FormatInt(n, 10)
}

// jsonHist appends a histogram as JSON, where upper bounds are inclusive.
func (p *Printer) jsonHist(b []byte, m *value.Map, e *value.Entry, div uint64) []byte {
	if _, linear := m.Scale.IsLinear(); linear {
		div = 1
	}
	b = append(b, '[')
	for i, bucket := range p.buckets(m, e) {
		if i > 0 {
			b = append(b, p.Dialect.Separator...)
		}
		b = append(b, '{')
		if bucket.Low != math.MinInt64 {
			b = append(b, `"min": `...)
			b = p.jsonInt(b, bucket.Low)
			b = append(b, ", "...)
		}
		if !isLast(m, bucket) {
			high := bucket.High
			if high != math.MaxInt64 {
				high--
			}
			b = append(b, `"max": `...)
			b = p.jsonInt(b, high)
			b = append(b, ", "...)
		}
		b = append(b, `"count": `...)
		b = strconv.AppendUint(b, bucket.Count/div, 10)
		b = append(b, '}')
	}
	return append(b, ']')
}
