// Package histogram counts values in buckets: between powers of two, or in steps of equal width. It
// knows neither where values come from nor what they measure.
//
//	Log2, Log2Split, Linear, Steps → Scale ─┬─ New → Add … → Buckets, Append
//	                                        └─ Index, Buckets, Label → Append (for counts that the caller keeps)
//
// A bucket contains the values from its lower bound, inclusive, up to its upper bound, exclusive.
// The text form is bpftrace's. It shows which bounds are inclusive, and its labels stay short over
// nineteen orders of magnitude.
package histogram
