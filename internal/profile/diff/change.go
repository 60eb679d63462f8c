package diff

import "math"

// Share is a part of a profile's total.
type Share struct {
	Part, Whole uint64  // Whole is not 0
	Samples     float64 // number of samples behind Whole; see Samples
}

// Value returns the share as a number from 0 to 1.
func (s Share) Value() float64 { return float64(s.Part) / float64(s.Whole) }

// z is the number of standard deviations that contain 95 % of a normal distribution.
const z = 1.959964

// limits returns the limits of Wilson's interval of the true share: all shares p for which the
// sampled one is at most z standard deviations √(p(1−p)/n) away. Unlike the interval around the
// sampled share, it is right near 0, too: 0 of 100 samples are a share of up to 3.7 %.
func (s Share) limits() (low, high float64) {
	p, n := s.Value(), max(s.Samples, 1)
	center := p + z*z/(2*n)
	side := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	whole := 1 + z*z/n
	return max((center-side)/whole, 0), min((center+side)/whole, 1)
}

// Change returns the difference of two shares, from -1 to 1, and its margin at 95 %. If the
// difference is not larger than the margin, it may be chance.
func Change(before, after Share) (change, margin float64) {
	b, a := before.Value(), after.Value()
	lowB, highB := before.limits()
	lowA, highA := after.limits()
	return a - b, max(math.Hypot(a-lowA, highB-b), math.Hypot(highA-a, b-lowB))
}
