package memleak

import (
	"math"
	"math/rand/v2"
)

// countScale is the unit of counts of sampled allocations: each stands for 1/p,
// where p is the probability that it was kept.
const countScale = 1 << 16

// weigh returns how many bytes an allocation that was kept stands for, and how many
// allocations in parts of countScale: without Every, for itself. What is taken off
// later is the same to the last bit.
func (o *leakOptions) weigh(size uint64) (bytes, counts uint64) {
	if o.Every == 0 {
		return size, countScale
	}
	p := -math.Expm1(-float64(max(size, 1)) / float64(o.Every))
	return uint64(float64(size)/p + 0.5), uint64(countScale/p + 0.5)
}

// sampler chooses what is kept: the bytes of all allocations on a string, with
// marks on it as a Poisson process sets them, one in Every bytes on average. What
// has a mark is kept.
type sampler struct {
	every uint64
	left  float64 // bytes to the next mark
}

func newSampler(every uint64) *sampler {
	s := &sampler{every: every}
	s.next()
	return s
}

func (s *sampler) next() { s.left = rand.ExpFloat64() * float64(s.every) }

// keeps tells whether an allocation is kept. One of no bytes counts as one byte.
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
