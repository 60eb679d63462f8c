// Package histogram counts values in buckets: between powers of two, or in
// steps of one width. It knows neither where values come from nor what they
// measure.
//
//	Log2, Linear → Scale → New → Add … → Buckets, Append
//
// A bucket holds the values from its lower bound, which belongs to it, up to its
// upper bound, which does not. The text form is the one that bpftrace prints:
// it says of each bound whether it belongs to the bucket, and its labels stay
// short over nineteen orders of magnitude.
package histogram
