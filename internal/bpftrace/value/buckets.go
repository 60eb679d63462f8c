package value

// buckets is the cell of hist and lhist: the counts from the first bucket with a hit to the last
// one.
type buckets struct {
	first  int32
	counts []uint64
}

// add counts a hit of a bucket and returns the number of bytes that the cell grew by.
func (b *buckets) add(bucket int) int64 {
	i := bucket - int(b.first)
	if uint(i) < uint(len(b.counts)) {
		b.counts[i]++
		return 0
	}
	return b.widen(bucket)
}

// widen extends the counts to a bucket outside of them and counts a hit of it. It returns the
// number of bytes that the cell grew by.
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

// reset zeroes the counts. If gone is set, it also frees their memory and returns its size in
// bytes.
func (b *buckets) reset(gone bool) int64 {
	if !gone {
		clear(b.counts)
		return 0
	}
	n := int64(len(b.counts)) * 8
	*b = buckets{}
	return n
}
