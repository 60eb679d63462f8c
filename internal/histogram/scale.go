package histogram

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Scale says which buckets a histogram has.
type Scale struct {
	linear         bool
	min, max, step int64
}

// maxSteps bounds the buckets of a linear scale.
const maxSteps = 10_000

// Log2 is the scale of powers of two: a bucket for what is below zero, one for
// zero, one for one, then [2, 4), [4, 8) and so on.
func Log2() Scale { return Scale{} }

// Linear is the scale of steps of one width from min up to max, with a bucket
// for what is below and one for what is above. The error says why there is no
// such scale.
func Linear(min, max, step int64) (Scale, error) {
	switch {
	case step < 1:
		return Scale{}, fmt.Errorf("a step of %d: it must be at least 1", step)
	case max <= min:
		return Scale{}, fmt.Errorf("from %d to %d: the second must be above the first", min, max)
	}
	width := uint64(max) - uint64(min) // right even where it overflows an int64
	if steps := (width-1)/uint64(step) + 1; steps > maxSteps {
		return Scale{}, fmt.Errorf("%d steps from %d to %d: more than the %d that there may be", steps, min, max, maxSteps)
	}
	return Scale{linear: true, min: min, max: max, step: step}, nil
}

// ParseLinear reads a linear scale as it is written on a command line:
// MIN,MAX,STEP.
func ParseLinear(text string) (Scale, error) {
	var numbers [3]int64
	fields := strings.Split(text, ",")
	if len(fields) != len(numbers) {
		return Scale{}, fmt.Errorf("%q is not MIN,MAX,STEP", text)
	}
	for i, field := range fields {
		n, err := strconv.ParseInt(strings.TrimSpace(field), 0, 64)
		if err != nil {
			return Scale{}, fmt.Errorf("%q is not MIN,MAX,STEP: %q is no whole number", text, field)
		}
		numbers[i] = n
	}
	return Linear(numbers[0], numbers[1], numbers[2])
}

// IsLinear tells whether the scale has steps of one width, and which.
func (s Scale) IsLinear() (min, max, step int64, ok bool) {
	return s.min, s.max, s.step, s.linear
}

// buckets is how many buckets the scale has.
func (s Scale) buckets() int {
	if !s.linear {
		return 2 + 63 // below zero, zero, and one for each power of two of an int64
	}
	return 2 + int((uint64(s.max)-uint64(s.min)-1)/uint64(s.step)) + 1
}

// index is the bucket that a value belongs to.
func (s Scale) index(v int64) int {
	switch {
	case !s.linear && v < 0:
		return 0
	case !s.linear:
		return 1 + bits.Len64(uint64(v))
	case v < s.min:
		return 0
	case v >= s.max:
		return s.buckets() - 1
	}
	return 1 + int((uint64(v)-uint64(s.min))/uint64(s.step))
}

// bounds are the bounds of a bucket. math.MinInt64 and math.MaxInt64 stand for
// no bound.
func (s Scale) bounds(i int) (low, high int64) {
	last := s.buckets() - 1
	switch {
	case !s.linear && i == 0:
		return math.MinInt64, 0
	case !s.linear && i == 1:
		return 0, 1
	case !s.linear && i == last:
		return 1 << (i - 2), math.MaxInt64
	case !s.linear:
		return 1 << (i - 2), 1 << (i - 1)
	case i == 0:
		return math.MinInt64, s.min
	case i == last:
		return s.max, math.MaxInt64
	}
	low = s.min + int64(i-1)*s.step
	if i == last-1 {
		return low, s.max
	}
	return low, low + s.step
}
