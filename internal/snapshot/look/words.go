package look

import (
	"fmt"
	"slices"
	"time"
)

// between formats the range of some durations: " for 3s", " for 1s to 4.2s".
func between(times []time.Duration) string {
	if len(times) == 0 {
		return ""
	}
	least, most := round(slices.Min(times)), round(slices.Max(times))
	if least == most {
		return " for " + least.String()
	}
	return fmt.Sprintf(" for %s to %s", least, most)
}

// unmoved says how many threads or goroutines have not moved since the previous look. looks has,
// for each of them, the number of looks in a row with the same wait.
func unmoved(looks []int) string {
	moved := slices.DeleteFunc(slices.Clone(looks), func(n int) bool { return n > 1 })
	n, least := len(looks)-len(moved), 0
	for _, look := range looks {
		if look > 1 && (least == 0 || look < least) {
			least = look
		}
	}
	switch {
	case n == 0:
		return ""
	case n < len(looks):
		return fmt.Sprintf("; %d of them have not moved in %s", n, counted(least, "look"))
	}
	return fmt.Sprintf("; not moved in %s", counted(least, "look"))
}

// round rounds a duration to about three digits.
func round(d time.Duration) time.Duration {
	for unit := time.Microsecond; ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
}

// counted returns a number and a noun: "1 thread", "12 threads".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
