package histogram

import (
	"math/big"
	"math/bits"
)

// Histogram counts values by bucket. Only one goroutine may use it.
type Histogram struct {
	scale  Scale
	counts []uint64
	count  uint64
	// The sum of all values, as 128 bits in two's complement, because sums of addresses exceed 64
	// bits.
	high, low uint64
}

// New returns an empty histogram.
func New(scale Scale) *Histogram {
	return &Histogram{scale: scale, counts: make([]uint64, scale.size())}
}

// Scale returns the scale of the buckets.
func (h *Histogram) Scale() Scale { return h.scale }

// Bytes returns the size of the buckets in memory.
func (h *Histogram) Bytes() int { return 8 * len(h.counts) }

// Add counts a value.
func (h *Histogram) Add(v int64) {
	h.counts[h.scale.Index(v)]++
	h.count++
	var carry uint64
	h.low, carry = bits.Add64(h.low, uint64(v), 0)
	h.high, _ = bits.Add64(h.high, uint64(v>>63), carry)
}

// AddMany adds n values in the bucket of v whose sum is total, such as counts from another source.
func (h *Histogram) AddMany(v int64, n, total uint64) {
	h.counts[h.scale.Index(v)] += n
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

// Reset removes all values.
func (h *Histogram) Reset() {
	clear(h.counts)
	h.count, h.high, h.low = 0, 0, 0
}

// Count returns the number of values.
func (h *Histogram) Count() uint64 { return h.count }

// Total returns the sum of all values.
func (h *Histogram) Total() *big.Int {
	total := new(big.Int).SetInt64(int64(h.high))
	return total.Lsh(total, 64).Add(total, new(big.Int).SetUint64(h.low))
}

// Mean returns the arithmetic mean of the values, rounded toward zero. It is 0 if there are none.
func (h *Histogram) Mean() *big.Int {
	if h.count == 0 {
		return new(big.Int)
	}
	return new(big.Int).Quo(h.Total(), new(big.Int).SetUint64(h.count))
}

// Bucket is one bucket of a histogram with its count.
type Bucket struct {
	Low, High int64 // Low is inclusive, High is not; math.MinInt64 and math.MaxInt64 mean no bound
	Count     uint64
}

// Buckets returns the buckets from the first nonempty one to the last nonempty one.
func (h *Histogram) Buckets() []Bucket { return h.scale.Buckets(0, h.counts) }

// Buckets returns the buckets from the first nonempty one to the last nonempty one. counts[0] is
// the count of the bucket with index first.
func (s Scale) Buckets(first int, counts []uint64) []Bucket {
	for len(counts) > 0 && counts[0] == 0 {
		first, counts = first+1, counts[1:]
	}
	for n := len(counts); n > 0 && counts[n-1] == 0; n-- {
		counts = counts[:n-1]
	}
	var buckets []Bucket
	for i, n := range counts {
		low, high := s.bounds(first + i)
		buckets = append(buckets, Bucket{low, high, n})
	}
	return buckets
}
