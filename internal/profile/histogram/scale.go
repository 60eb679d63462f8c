package histogram

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// Scale defines the buckets of a histogram.
type Scale struct {
	linear         bool
	min, max, step int64 // of a linear scale
	split          int   // for powers of two: each has 2^split buckets
}

// maxSteps bounds the buckets of a linear scale.
const maxSteps = 10_000

// Log2 returns the scale of powers of two. Its buckets are the negative numbers, 0, 1, [2, 4), [4,
// 8) and so on.
func Log2() Scale { return Scale{} }

// Log2Split returns the scale of powers of two, each split into 2^bits buckets of equal width.
// Numbers below 2^bits have a bucket each.
func Log2Split(bits int) Scale { return Scale{split: bits} }

// Steps returns the scale of n steps of equal width from min up, with a bucket for lower values and
// one for higher values.
func Steps(min, step int64, n int) Scale {
	return Scale{linear: true, min: min, max: min + int64(n)*step, step: step}
}

// Linear returns the scale of steps of equal width from min to max, with a bucket for lower values
// and one for higher values. It returns an error if step is less than 1, max is not above min, or
// there are too many steps.
func Linear(min, max, step int64) (Scale, error) {
	switch {
	case step < 1:
		return Scale{}, fmt.Errorf("a step of %d: it must be at least 1", step)
	case max <= min:
		return Scale{}, fmt.Errorf("from %d to %d: the second must be above the first", min, max)
	}
	width := uint64(max) - uint64(min) // correct even if the difference overflows an int64
	if steps := (width-1)/uint64(step) + 1; steps > maxSteps {
		return Scale{}, fmt.Errorf("%d steps from %d to %d: more than the %d that there may be", steps, min, max, maxSteps)
	}
	return Scale{linear: true, min: min, max: max, step: step}, nil
}

// ParseLinear parses a linear scale in its command line form: MIN,MAX,STEP.
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

// IsLinear reports whether the scale has steps of equal width, and returns the width.
func (s Scale) IsLinear() (step int64, ok bool) { return s.step, s.linear }

// size returns the number of buckets.
func (s Scale) size() int {
	if !s.linear {
		return s.Index(math.MaxInt64) + 1
	}
	width := uint64(s.max) - uint64(s.min)
	n := width / uint64(s.step)
	if width%uint64(s.step) != 0 {
		n++
	}
	return 2 + int(n)
}

// Index returns the index of the bucket that contains v. Bucket 0 has no lower bound.
func (s Scale) Index(v int64) int {
	switch {
	case s.linear && v < s.min || !s.linear && v < 0:
		return 0
	case s.linear && v >= s.max:
		return s.size() - 1
	case s.linear:
		return 1 + int((uint64(v)-uint64(s.min))/uint64(s.step))
	case v < 1<<s.split:
		return 1 + int(v)
	}
	shift := bits.Len64(uint64(v)) - 1 - s.split
	return 1 + shift<<s.split + int(v>>shift)
}

// bounds returns the bounds of a bucket. math.MinInt64 and math.MaxInt64 mean no bound.
func (s Scale) bounds(i int) (low, high int64) {
	last := s.size() - 1
	switch {
	case i == 0:
		return math.MinInt64, s.min
	case i == last && s.linear:
		return s.max, math.MaxInt64
	case i == last:
		return s.low(i), math.MaxInt64
	case i == last-1 && s.linear:
		return s.low(i), s.max
	}
	return s.low(i), s.low(i + 1)
}

// low returns the lower bound of a bucket that has one.
func (s Scale) low(i int) int64 {
	i--
	switch {
	case s.linear:
		return s.min + int64(i)*s.step
	case i < 1<<s.split:
		return int64(i)
	}
	shift := i>>s.split - 1
	return int64(i-shift<<s.split) << shift
}
