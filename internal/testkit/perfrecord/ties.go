package perfrecord

import (
	"cmp"
	"regexp"
	"slices"
)

// inNanoseconds is the time of a sample in the text of perf script --ns.
var inNanoseconds = regexp.MustCompile(`\d+\.\d{9}:`)

// OrderTies sorts samples that follow each other and have the same time by their heads, in which the
// time is in nanoseconds. Two CPUs may take samples at the same time, and no one knows which is first.
func OrderTies[S any](samples []S, head func(S) string) {
	for first := 0; first < len(samples); {
		time, next := inNanoseconds.FindString(head(samples[first])), first+1
		for next < len(samples) && time != "" && inNanoseconds.FindString(head(samples[next])) == time {
			next++
		}
		slices.SortStableFunc(samples[first:next], func(a, b S) int { return cmp.Compare(head(a), head(b)) })
		first = next
	}
}
