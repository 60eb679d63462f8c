package histogram

import (
	"fmt"
	"math"
	"strings"
)

// width is how many characters the bar of the fullest bucket has.
const width = 52

// bar is the bar of the fullest bucket.
var bar = strings.Repeat("@", width)

// Append appends a line for each bucket, as bpftrace prints them; nothing if
// there are no values.
func (h *Histogram) Append(dst []byte) []byte {
	buckets := h.Buckets()
	var most uint64
	for _, b := range buckets {
		most = max(most, b.Count)
	}
	for _, b := range buckets {
		length := int(float64(b.Count) / float64(most) * width)
		dst = fmt.Appendf(dst, "%-16s %7d |%-*s|\n", b.label(h.scale.linear), b.Count, width, bar[:length])
	}
	return dst
}

// label is the bucket's interval: [1K, 2K) between powers of two, where K is
// 1024, and [1000, 1100) in steps.
func (b *Bucket) label(linear bool) string {
	number := short
	if linear {
		number = func(v int64) string { return fmt.Sprint(v) }
	}
	switch {
	case b.Low == math.MinInt64:
		return "(..., " + number(b.High) + ")"
	case b.High == math.MaxInt64:
		return "[" + number(b.Low) + ", ...)"
	case b.High == b.Low+1:
		return "[" + number(b.Low) + "]"
	}
	return "[" + number(b.Low) + ", " + number(b.High) + ")"
}

// short writes a power of two in units of powers of 1024.
func short(v int64) string {
	const units = "KMGTPE"
	unit := ""
	for i := 0; i < len(units) && v >= 1024; i++ {
		v >>= 10
		unit = units[i : i+1]
	}
	return fmt.Sprint(v) + unit
}
