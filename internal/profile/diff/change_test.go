package diff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// binomial returns how many of n samples hit a function with a share.
func binomial(r *rand.Rand, n int, share float64) (hits uint64) {
	for range n {
		if r.Float64() < share {
			hits++
		}
	}
	return hits
}

// leastCoverage is the least number of trials whose margin must contain the truth: 95 % less three
// standard deviations.
func leastCoverage(trials int) int {
	n := float64(trials)
	return int(0.95*n - 3*math.Sqrt(n*0.95*0.05))
}

func TestTheMarginContainsTheTrueChangeIn95OfHundredComparisons(t *testing.T) {
	const trials = 2000
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range [][2]int{{30, 30}, {100, 100}, {100, 1000}, {1000, 300}, {3000, 3000}} {
		for _, share := range [][2]float64{{0, 0.05}, {0.001, 0.001}, {0.01, 0}, {0.02, 0.05}, {0.1, 0.1}, {0.3, 0.1}, {0.5, 0.5}, {0.9, 0.95}, {1, 0.99}} {
			t.Run(fmt.Sprintf("%d and %d samples of %v", n[0], n[1], share), func(t *testing.T) {
				covered := 0
				for range trials {
					before := Share{binomial(r, n[0], share[0]), uint64(n[0]), float64(n[0])}
					after := Share{binomial(r, n[1], share[1]), uint64(n[1]), float64(n[1])}
					if change, margin := Change(before, after); math.Abs(change-(share[1]-share[0])) <= margin {
						covered++
					}
				}
				if covered < leastCoverage(trials) {
					t.Errorf("the true change is within the margin in %d of %d comparisons", covered, trials)
				}
			})
		}
	}
}

// With many samples the margin is that of resampling, no wider.
func TestTheMarginIsThatOfResamplingIfThereAreManySamples(t *testing.T) {
	const n, rounds = 2000, 1000
	r := rand.New(rand.NewPCG(3, 4))
	before, after := Share{400, n, n}, Share{500, n, n}
	var squares float64
	for range rounds {
		change := (float64(binomial(r, n, 0.25)) - float64(binomial(r, n, 0.2))) / n
		squares += (change - 0.05) * (change - 0.05)
	}
	want := z * math.Sqrt(squares/rounds)
	if _, margin := Change(before, after); math.Abs(margin-want) > 0.1*want {
		t.Errorf("the margin is %.4f, by resampling %.4f", margin, want)
	}
}

// Newcombe's own examples of method 10 (Statistics in Medicine 17, 1998, table II), whose longer
// sides are the margins.
func TestTheMarginIsTheLongerSideOfNewcombesInterval(t *testing.T) {
	for _, tt := range []struct {
		k, n      [2]uint64
		low, high float64
	}{
		{[2]uint64{56, 48}, [2]uint64{70, 80}, 0.0524, 0.3339},
		{[2]uint64{9, 3}, [2]uint64{10, 10}, 0.1705, 0.8090},
		{[2]uint64{5, 0}, [2]uint64{56, 29}, -0.0381, 0.1926},
		{[2]uint64{10, 0}, [2]uint64{10, 10}, 0.6075, 1},
	} {
		a, b := Share{tt.k[0], tt.n[0], float64(tt.n[0])}, Share{tt.k[1], tt.n[1], float64(tt.n[1])}
		change, margin := Change(b, a)
		if want := max(change-tt.low, tt.high-change); math.Abs(margin-want) > 0.0001 {
			t.Errorf("%d of %d and %d of %d: ±%.4f, want ±%.4f", tt.k[0], tt.n[0], tt.k[1], tt.n[1], margin, want)
		}
	}
}
