package output

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"

	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// scaled returns a count of a metric in base units. It returns the largest uint64 on overflow.
func scaled(count uint64, m *profile.Metric) uint64 {
	high, low := bits.Mul64(count, max(m.Scale, 1))
	if high != 0 {
		return 1<<64 - 1
	}
	return low
}

// quantity formats a count of a metric for people: "1.25 s", "3.4 MiB", "17".
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

// short formats a duration in one suitable unit, or in minutes and hours.
func short(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d.Nanoseconds())
	case d < time.Millisecond:
		return digits(float64(d)/float64(time.Microsecond)) + " µs"
	case d < time.Second:
		return digits(float64(d)/float64(time.Millisecond)) + " ms"
	case d < 100*time.Second:
		return digits(d.Seconds()) + " s"
	}
	return d.Truncate(time.Second).String()
}

func byteSize(v uint64) string {
	if v < 1024 {
		return fmt.Sprintf("%d B", v)
	}
	f, unit := float64(v)/1024, 0
	for units := "KMGTPE"; f >= 1024 && unit < len(units)-1; unit++ {
		f /= 1024
	}
	return fmt.Sprintf("%s %ciB", digits(f), "KMGTPE"[unit])
}

// digits formats f with three significant digits, never in scientific notation.
func digits(f float64) string {
	places := 2
	switch {
	case f >= 100:
		places = 0
	case f >= 10:
		places = 1
	}
	s := strconv.FormatFloat(f, 'f', places, 64)
	if places > 0 {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// percent formats a share in percent. It returns "0%" if whole is 0.
func percent(part, whole uint64) string {
	if whole == 0 {
		return "0%"
	}
	share := 100 * float64(part) / float64(whole)
	switch {
	case part == whole:
		return "100%"
	case share > 99.9:
		return "99.9%" // "100%" would say that nothing is missing
	case part > 0 && share < 0.001:
		return "<0.001%"
	}
	return fmt.Sprintf("%.3g%%", share)
}

// rounded formats a share with at most one digit after the decimal point, for notes: "0.3%", "50%".
func rounded(part, whole uint64) string {
	if part < whole && part*1000 >= whole*999 {
		return "99.9%" // "100%" would say that nothing is missing
	}
	return strings.Replace(tenths(part, whole), ".0%", "%", 1)
}

func plural(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// phrases describe the totals of the collectors' metrics. %s is the quantity. If the count is 1, a
// final "s" is removed.
var phrases = map[string]string{
	"OnCPUTime":            "%s on-CPU",
	"OffCPUTime":           "%s off-CPU",
	"OffCPUCount":          "%s waits",
	"PreemptedTime":        "%s preempted",
	"PreemptedCount":       "%s preemptions",
	"LeakedSize":           "%s not freed",
	"LeakedCount":          "%s allocations",
	"IOSize":               "%s moved",
	"IOCount":              "%s calls",
	"IOTime":               "%s in calls",
	"IOErrors":             "%s errors",
	"IORead":               "%s read",
	"IOWritten":            "%s written",
	"BlockSize":            "%s of block I/O",
	"BlockCount":           "%s requests",
	"BlockTime":            "%s of block I/O time",
	"UnusedReadaheadPages": "%s unused readahead pages",
	"UsedReadaheadPages":   "%s used readahead pages",
	"CacheMissingCount":    "%s cache misses",
	"CacheReferenceCount":  "%s cache references",
	"CacheHitPercentage":   "%s cache hits",
}

// headings are shorter column headings for the view, for metrics with long names.
var headings = map[string]string{
	"OffCPUCount":    "WAITS",
	"PreemptedTime":  "PREEMPTED",
	"PreemptedCount": "TIMES",
	"LeakedCount":    "COUNT",
	"IOCount":        "CALLS",
	"IOTime":         "TIME",
	"IOErrors":       "ERRORS",
	"IORead":         "READ",
	"IOWritten":      "WRITTEN",
	"BlockCount":     "REQUESTS",
	"BlockTime":      "TIME",
}

// heading returns the heading of a metric's column in the view.
func heading(m *profile.Metric) string {
	if short, ok := headings[m.Name]; ok {
		return short
	}
	return escape.Text(m.Name)
}

// amount describes the total of a metric: "9.76 s on-CPU". totals has the totals of all metrics.
func amount(totals []uint64, metrics []profile.Metric, metric int) string {
	m := &metrics[metric]
	text := quantity(totals[metric], m)
	if m.Share != nil {
		text = fmt.Sprintf("%d%%", m.Share.Of(totals))
	}
	phrase, known := phrases[m.Name]
	if !known {
		return text + " " + escape.Text(m.Name)
	}
	if text == "1" {
		phrase = strings.TrimSuffix(phrase, "s")
	}
	return fmt.Sprintf(phrase, text)
}
