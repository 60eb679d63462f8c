package value

import "math/bits"

// Buckets are counted from 0. Of hist, bucket 0 is for negative numbers and bucket 1 for zero;
// with bits b, the numbers below 2^b have a bucket each and every later power of two has 2^b
// buckets of equal width. Of lhist, bucket 0 is for numbers below the minimum and the last one
// for the maximum and above.

// HistBucket returns the bucket of a number in a hist with 2^b buckets a power of two.
func HistBucket(n int64, b int) int {
	if n < 0 {
		return 0
	}
	if n < 1<<b {
		return int(n) + 1
	}
	top := bits.Len64(uint64(n)) - 1
	sub := int(uint64(n)>>(top-b)) & (1<<b - 1)
	return (top-b+1)<<b + sub + 1
}

// LHistBucket returns the bucket of a number in a linear histogram.
func LHistBucket(n, min, max, step int64) int {
	switch {
	case n < min:
		return 0
	case n >= max:
		return int((max-min)/step) + 1
	}
	return int((n-min)/step) + 1
}

// buckets is the cell of hist and lhist: the counts of the buckets from the first that was hit
// to the last.
type buckets struct {
	first  int32
	counts []uint64
}

// add counts a hit of a bucket and returns the bytes that the cell grew by.
func (b *buckets) add(bucket int) int64 {
	i := bucket - int(b.first)
	if uint(i) < uint(len(b.counts)) {
		b.counts[i]++
		return 0
	}
	return b.widen(bucket)
}

// widen makes room for a bucket outside those that are kept, and counts a hit of it.
func (b *buckets) widen(bucket int) int64 {
	first, end := int(b.first), int(b.first)+len(b.counts)
	if len(b.counts) == 0 {
		first, end = bucket, bucket
	}
	first, end = min(first, bucket), max(end, bucket+1)
	wider := make([]uint64, end-first)
	if len(b.counts) > 0 {
		copy(wider[int(b.first)-first:], b.counts)
	}
	grown := int64(len(wider)-len(b.counts)) * 8
	b.first, b.counts = int32(first), wider
	b.counts[bucket-first]++
	return grown
}

// reset forgets the counts and returns the bytes that are given back.
func (b *buckets) reset(gone bool) int64 {
	if !gone {
		clear(b.counts)
		return 0
	}
	n := int64(len(b.counts)) * 8
	*b = buckets{}
	return n
}

// all returns the counts of buckets 0 to n-1.
func (b *buckets) all(n int) []uint64 {
	all := make([]uint64, max(n, int(b.first)+len(b.counts)))
	copy(all[b.first:], b.counts)
	return all[:n]
}
