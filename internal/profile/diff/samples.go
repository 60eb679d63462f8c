package diff

import "github.com/ringtap/ringtap/internal/profile"

// Samples returns the number of equal samples that a metric's shares are as exact as: see the
// package comment. It is 0 if the metric's values are 0.
func Samples(p *profile.Profile, metric int) float64 {
	m := &p.Metrics[metric]
	total := float64(sum(p, metric))
	if m.Squares > 0 {
		return total * total / m.Squares
	}
	n := total
	if received := received(p, m.Name); received > 0 {
		n = min(n, received)
	}
	if m.Unit == "nanoseconds" && p.Period > 0 && m.Running {
		n = min(n, total*float64(max(m.Scale, 1))/float64(p.Period))
	}
	for i := range p.Metrics {
		if p.Metrics[i].Unit == "counts" && m.Unit != "counts" {
			n = min(n, weighted(p, metric, i))
		}
	}
	if unit := common(p, metric); n == total && unit >= leastPeriod {
		n /= float64(unit)
	}
	return n
}

func sum(p *profile.Profile, metric int) (total uint64) {
	for i := range p.Rows {
		total += p.Rows[i].Values[metric]
	}
	return total
}

// leastPeriod is the least period that is recognized by the values: numbers of samples have smaller
// common divisors, and periods are longer.
const leastPeriod = 1000

// common returns the greatest common divisor of a metric's values.
func common(p *profile.Profile, metric int) (divisor uint64) {
	for i := range p.Rows {
		for v := p.Rows[i].Values[metric]; v != 0; {
			divisor, v = v, divisor%v
		}
	}
	return divisor
}

// received returns how many samples of an event came and are in the profile. If no account has the
// event's name, it is the sum of all events. It is 0 if there are no accounts.
func received(p *profile.Profile, event string) float64 {
	var all float64
	for i := range p.Accounts {
		a := &p.Accounts[i]
		kept := float64(a.Received - min(a.LeftOut, a.Received))
		if a.Event == event {
			return kept
		}
		all += kept
	}
	return all
}

// weighted returns the effective number of samples of a metric if counts is the column of how many
// there were. Samples of one row are taken to have equal weights, which is the best case. It returns
// the sum of the metric if counts is 0 in a row: it then counts something else.
func weighted(p *profile.Profile, metric, counts int) float64 {
	var total, squares float64
	other := false
	for i := range p.Rows {
		v, n := float64(p.Rows[i].Values[metric]), float64(p.Rows[i].Values[counts])
		total += v
		if n > 0 {
			squares += v * v / n
		}
		other = other || v > 0 && n == 0
	}
	if other || squares == 0 {
		return total
	}
	return total * total / squares
}
