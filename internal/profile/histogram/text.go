package histogram

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// width is the length of the fullest bucket's bar in characters. It is the same as in bpftrace,
// because the output of `ringtap run` must equal bpftrace's.
const width = 52

// bar is the bar of the fullest bucket.
var bar = strings.Repeat("@", width)

// Append appends a line for each bucket in bpftrace's format, or nothing if there are no values.
func (h *Histogram) Append(dst []byte) []byte {
	return Append(dst, h.Buckets(), 1, h.scale.Label)
}

// Append appends a line for each bucket in bpftrace's format. Printed counts are divided by
// divisor. The lengths of bars follow the undivided counts.
func Append(dst []byte, buckets []Bucket, divisor uint64, label func(Bucket) string) []byte {
	var most uint64
	for _, b := range buckets {
		most = max(most, b.Count)
	}
	for _, b := range buckets {
		length := int(float32(b.Count) / float32(most) * width) // 32 bits, as in bpftrace
		dst = fmt.Appendf(dst, "%-16s%8d |%-*s|\n", label(b), b.Count/divisor, width, bar[:length])
	}
	return dst
}

// Label returns the interval of a bucket: [1K, 2K) for powers of two, where K is 1024, and [1000,
// 1100) for steps.
func (s Scale) Label(b Bucket) string {
	number := s.short
	if s.linear {
		number = func(v int64) string { return strconv.FormatInt(v, 10) }
	}
	return s.Interval(b, number, true)
}

// Interval returns the interval of a bucket, with bounds formatted by number. If singles is set, a
// bucket with only one number is [5] instead of [5, 6).
func (s Scale) Interval(b Bucket, number func(int64) string, singles bool) string {
	switch {
	case b.Low == math.MinInt64:
		return "(..., " + number(b.High) + ")"
	case s.linear && b.High == math.MaxInt64:
		return "[" + number(b.Low) + ", ...)"
	case singles && b.High == b.Low+1:
		return "[" + number(b.Low) + "]"
	}
	return "[" + number(b.Low) + ", " + number(b.High) + ")"
}

// short formats a bound of a powers-of-two scale in powers of 1024.
func (s Scale) short(v int64) string {
	bound := uint64(v)
	if v == math.MaxInt64 {
		bound = 1 << 63
	}
	unit := max(0, bits.Len64(bound)-1-s.split) / 10
	text := strconv.FormatUint(bound>>(10*unit), 10)
	if unit > 0 {
		text += "KMGTPE"[unit-1 : unit]
	}
	return text
}
