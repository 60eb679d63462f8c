package memleak

import (
	"math"
	"math/rand/v2"
)

// countScale is the unit of counts. A sampled allocation stands for 1/p allocations, where p is the
// probability that it was kept.
const countScale = 1 << 16

// weigh returns how many bytes an allocation stands for, and how many allocations, in units of
// 1/countScale. Without Every, it stands for itself. The results are always the same for a size, so
// that subtracting them later leaves exactly 0.
func (o *leakOptions) weigh(size uint64) (bytes, counts uint64) {
	if o.Every == 0 {
		return size, countScale
	}
	p := -math.Expm1(-float64(max(size, 1)) / float64(o.Every))
	return uint64(float64(size)/p + 0.5), uint64(countScale/p + 0.5)
}

// sampler chooses the allocations to keep. Imagine the bytes of all allocations in one line. A
// Poisson process sets marks on the line, one in every bytes on average. Allocations with a mark
// are kept.
type sampler struct {
	every uint64
	left  float64 // bytes up to the next mark
}

func newSampler(every uint64) *sampler {
	s := &sampler{every: every}
	s.next()
	return s
}

func (s *sampler) next() { s.left = rand.ExpFloat64() * float64(s.every) }

// keeps reports whether an allocation is kept. If size is 0, it counts as one byte.
func (s *sampler) keeps(size uint64) bool {
	if s.every == 0 {
		return true
	}
	if s.left -= float64(max(size, 1)); s.left > 0 {
		return false
	}
	s.next()
	return true
}
