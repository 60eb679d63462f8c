package table

import (
	"maps"
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/profile/histogram"
)

// key identifies a row: a process and its two stacks.
type key struct {
	process      int // process.Process.Index
	user, kernel callchain.StackID
}

// table adds up the values of rows. The values of a row are adjacent in one slice, so that memory
// grows with distinct rows only.
type table struct {
	columns int
	rows    map[key]int // index of a row's first value
	values  []uint64
	// histograms has the rows' histograms, for parts that have any.
	histograms     map[observed]*histogram.Histogram
	histogramBytes int // of their buckets, and histogramBytes for each
	last           key // the row that find returned last, if found
	at             int
	found          bool
}

// observed identifies a histogram: a row of a part.
type observed struct {
	part int
	key  key
}

func newTable(columns int) *table {
	return &table{columns: columns, rows: make(map[key]int), histograms: make(map[observed]*histogram.Histogram)}
}

// histogram returns the histogram of a row of a part, empty if it is new.
func (t *table) histogram(o observed, scale histogram.Scale) *histogram.Histogram {
	h := t.histograms[o]
	if h == nil {
		h = histogram.New(scale)
		t.histograms[o] = h
		t.histogramBytes += h.Bytes() + histogramBytes
		t.row(o.key) // so that the row exists, even if its values are zero
	}
	return h
}

// find returns the values of the row, nil if it is new. They are valid until the next call of row.
// It remembers the last row, because a collector adds to several columns of a row in sequence.
func (t *table) find(k key) []uint64 {
	if !t.found || t.last != k {
		at, ok := t.rows[k]
		if !ok {
			return nil
		}
		t.last, t.at, t.found = k, at, true
	}
	return t.values[t.at : t.at+t.columns]
}

// row returns the values of the row, all zero if it is new. They are valid
// until the next call.
func (t *table) row(k key) []uint64 {
	if values := t.find(k); values != nil {
		return values
	}
	t.rows[k] = len(t.values)
	t.values = append(t.values, make([]uint64, t.columns)...)
	return t.find(k)
}

// merge adds all rows of other. Its columns and stack IDs must be the same.
func (t *table) merge(other *table) {
	for k, at := range other.rows {
		row := t.row(k)
		for i, v := range other.values[at : at+other.columns] {
			row[i] += v
		}
	}
	for of, h := range other.histograms {
		t.histogram(of, h.Scale()).Merge(h)
	}
}

// zero sets columns to zero in all rows.
func (t *table) zero(columns []int) {
	if len(columns) == 0 {
		return
	}
	for at := 0; at < len(t.values); at += t.columns {
		for _, column := range columns {
			t.values[at+column] = 0
		}
	}
}

// empty reports whether all values of a row are zero.
func (t *table) empty(k key) bool {
	return !slices.ContainsFunc(t.row(k), func(v uint64) bool { return v != 0 })
}

// keys returns the rows' keys in a fixed order.
func (t *table) keys() []key {
	return slices.SortedFunc(maps.Keys(t.rows), func(a, b key) int {
		if a.process != b.process {
			return a.process - b.process
		}
		if a.user != b.user {
			return int(int64(a.user) - int64(b.user))
		}
		return int(int64(a.kernel) - int64(b.kernel))
	})
}
