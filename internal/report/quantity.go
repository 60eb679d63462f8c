package report

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/ringtap/ringtap/internal/profile"
)

// scaled is a count of a metric in its base unit. A product that does not fit
// is the largest number there is.
func scaled(count uint64, m *profile.Metric) uint64 {
	high, low := bits.Mul64(count, max(m.Scale, 1))
	if high != 0 {
		return 1<<64 - 1
	}
	return low
}

// quantity writes a count of a metric for people: "1.25 s", "3.4 MiB", "17".
func quantity(count uint64, m *profile.Metric) string {
	v := scaled(count, m)
	switch m.Unit {
	case "nanoseconds":
		return short(time.Duration(min(v, 1<<63-1)))
	case "bytes":
		return byteSize(v)
	}
	return fmt.Sprint(v)
}

// short is a duration with three digits or so and one unit.
func short(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < time.Millisecond:
		return fmt.Sprintf("%.3g µs", float64(d)/float64(time.Microsecond))
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
	case d < 100*time.Second:
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

func byteSize(v uint64) string {
	if v < 1024 {
		return fmt.Sprintf("%d B", v)
	}
	f, unit := float64(v)/1024, 0
	for units := "KMGTPE"; f >= 1024 && unit < len(units)-1; unit++ {
		f /= 1024
	}
	return fmt.Sprintf("%.4g %ciB", f, "KMGTPE"[unit])
}

// percent is a share with its sign; "0 %" of nothing.
func percent(part, whole uint64) string {
	if whole == 0 {
		return "0 %"
	}
	share := 100 * float64(part) / float64(whole)
	switch {
	case part == whole:
		return "100 %"
	case share > 99.9:
		return "99.9 %" // 100 would say that nothing is missing
	}
	return fmt.Sprintf("%.3g %%", share)
}

func plural(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
