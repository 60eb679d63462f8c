package histogram

import (
	"math/big"
	"math/bits"
)

// Histogram is a number of values, counted by bucket. It belongs to one
// goroutine.
type Histogram struct {
	scale  Scale
	counts []uint64
	count  uint64
	// The sum of all values, 128 bits in two's complement: addresses add up to
	// more than 64 bits hold.
	high, low uint64
}

// New makes an empty histogram.
func New(scale Scale) *Histogram {
	return &Histogram{scale: scale, counts: make([]uint64, scale.buckets())}
}

// Scale is the scale of the buckets.
func (h *Histogram) Scale() Scale { return h.scale }

// Bytes is the memory that the buckets take.
func (h *Histogram) Bytes() int { return 8 * len(h.counts) }

// Add counts a value.
func (h *Histogram) Add(v int64) {
	h.counts[h.scale.index(v)]++
	h.count++
	var carry uint64
	h.low, carry = bits.Add64(h.low, uint64(v), 0)
	h.high, _ = bits.Add64(h.high, uint64(v>>63), carry)
}

// AddMany counts n values of the bucket that v belongs to, which add up to
// total: what others have counted.
func (h *Histogram) AddMany(v int64, n, total uint64) {
	h.counts[h.scale.index(v)] += n
	h.count += n
	var carry uint64
	h.low, carry = bits.Add64(h.low, total, 0)
	h.high += carry
}

// Merge adds the values of another histogram of the same scale.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.count += other.count
	var carry uint64
	h.low, carry = bits.Add64(h.low, other.low, 0)
	h.high, _ = bits.Add64(h.high, other.high, carry)
}

// Reset forgets all values.
func (h *Histogram) Reset() {
	clear(h.counts)
	h.count, h.high, h.low = 0, 0, 0
}

// Count is the number of values.
func (h *Histogram) Count() uint64 { return h.count }

// Total is the sum of all values.
func (h *Histogram) Total() *big.Int {
	total := new(big.Int).SetInt64(int64(h.high))
	return total.Lsh(total, 64).Add(total, new(big.Int).SetUint64(h.low))
}

// Mean is the arithmetic mean of the values, rounded toward zero; 0 if there are
// none.
func (h *Histogram) Mean() *big.Int {
	if h.count == 0 {
		return new(big.Int)
	}
	return new(big.Int).Quo(h.Total(), new(big.Int).SetUint64(h.count))
}

// Bucket is one bucket of a histogram and how many values it holds.
type Bucket struct {
	Low, High int64 // from Low up to but not High; math.MinInt64 and math.MaxInt64: no bound
	Count     uint64
}

// Buckets are the buckets from the first that holds a value to the last that
// does.
func (h *Histogram) Buckets() []Bucket {
	first, last := 0, len(h.counts)-1
	for first < last && h.counts[first] == 0 {
		first++
	}
	for last > first && h.counts[last] == 0 {
		last--
	}
	if h.counts[first] == 0 {
		return nil
	}
	var buckets []Bucket
	for i := first; i <= last; i++ {
		low, high := h.scale.bounds(i)
		buckets = append(buckets, Bucket{low, high, h.counts[i]})
	}
	return buckets
}
