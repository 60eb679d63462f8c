package look

import (
	"fmt"
	"slices"
	"time"
)

// between is the range of some times: " for 3s", " for 1s to 4.2s".
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

// unmoved says how many of those that were found in the same wait so many times have
// not moved since the look before.
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

// round leaves three or so digits of a time.
func round(d time.Duration) time.Duration {
	for unit := time.Microsecond; ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
}

// counted is a number of things: "1 thread", "12 threads".
func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
