package pressure

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// parseTotal returns the stalled time in the text of a pressure file. Its lines are like "some
// avg10=0.00 avg60=0.00 avg300=0.00 total=0", with total in microseconds.
func parseTotal(text, kind string) (time.Duration, error) {
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != kind {
			continue
		}
		for _, word := range words[1:] {
			value, ok := strings.CutPrefix(word, "total=")
			if !ok {
				continue
			}
			total, err := strconv.ParseInt(value, 10, 64)
			if err != nil || total < 0 || total > int64(time.Duration(1<<63-1)/time.Microsecond) {
				return 0, fmt.Errorf("%q is no time", word)
			}
			return time.Duration(total) * time.Microsecond, nil
		}
	}
	return 0, fmt.Errorf("no total of %q", kind)
}
