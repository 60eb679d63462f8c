package diff

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/profile"
)

// program is a profile of functions in an object, one row each.
func program(object string, base uint64, functions []string, values ...uint64) *profile.Profile {
	p := &profile.Profile{
		Metrics:   []profile.Metric{{Name: "Samples", Type: "samples", Unit: "counts", Scale: 1, Running: true}},
		Objects:   []profile.Object{{Path: "[kernel]", Kernel: true}, {Path: object, BuildID: fmt.Sprintf("%x", base)}},
		Processes: []profile.Process{{PID: 7, Comm: "spin"}},
	}
	for i, name := range functions {
		p.Frames = append(p.Frames, profile.Frame{Object: 1, Name: name, Address: base + 16*uint64(i)})
		p.Stacks = append(p.Stacks, profile.Stack{Frames: []int{i}})
		p.Rows = append(p.Rows, profile.Row{User: i, Kernel: profile.None, Values: []uint64{values[i]}})
	}
	return p
}

// sums returns the values of each function, named with its object.
func sums(p *profile.Profile) map[string][2]uint64 {
	found := make(map[string][2]uint64)
	for i := range p.Rows {
		r := &p.Rows[i]
		f := &p.Frames[p.Stacks[r.User].Frames[0]]
		name := f.Name + " in " + p.Objects[f.Object].Path
		s := found[name]
		found[name] = [2]uint64{s[0] + r.Values[0], s[1] + r.Values[1]}
	}
	return found
}

func TestNewHasTheRowsOfBothInColumnsOfTheirOwn(t *testing.T) {
	before := program("/old/spin", 0x1000, []string{"a", "b"}, 3, 4)
	after := program("/new/spin", 0x2000, []string{"b", "c"}, 5, 6)
	d := New(Side{Name: "x", Profile: before}, Side{Name: "y", Profile: after})
	want := map[string][2]uint64{
		"a in /old/spin": {3, 0}, "b in /old/spin": {4, 0}, "b in /new/spin": {0, 5}, "c in /new/spin": {0, 6},
	}
	if diff := cmp.Diff(want, sums(d.Profile)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if d.Samples != [2]float64{7, 11} || d.ByName {
		t.Errorf("samples %v, by name %v", d.Samples, d.ByName)
	}
	if diff := cmp.Diff(program("/old/spin", 0x1000, []string{"a", "b"}, 3, 4), before); diff != "" {
		t.Errorf("the profile before was changed:\n%s", diff)
	}
}

func TestFunctionsAreMatchedByNameAloneIfOneProfileHasNoObjects(t *testing.T) {
	folded, recorded := program("", 0, []string{"a"}, 3), program("/bin/spin", 0x1000, []string{"a"}, 5)
	for _, sides := range [][2]*profile.Profile{{folded, recorded}, {recorded, folded}} {
		d := New(Side{Profile: sides[0]}, Side{Profile: sides[1]})
		want := map[string][2]uint64{"a in ": {sides[0].Rows[0].Values[0], sides[1].Rows[0].Values[0]}}
		if diff := cmp.Diff(want, sums(d.Profile)); diff != "" || !d.ByName {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestSamplesAreAsManyAsAreBehindTheValues(t *testing.T) {
	names := []string{"a", "b"}
	clock := program("/bin/spin", 0, names, 90*4000000, 10*4000000)
	clock.Metrics[0] = profile.Metric{Name: "cpu-clock", Unit: "nanoseconds", Scale: 1, Running: true}
	clock.Accounts = []profile.Account{{Event: "page-faults", Received: 7}, {Event: "cpu-clock", Received: 103, LeftOut: 3}}

	golang := program("/bin/spin", 0, names, 300, 200)
	golang.Metrics[0] = profile.Metric{Name: "cpu", Unit: "nanoseconds", Scale: 1e6, Running: true}
	golang.Period = 10 * time.Millisecond

	waits := program("/bin/spin", 0, names, 1000, 1000)
	waits.Metrics = []profile.Metric{{Name: "OffCPUTime", Unit: "nanoseconds", Scale: 1}, {Name: "OffCPUCount", Unit: "counts", Scale: 1}}
	waits.Rows[0].Values, waits.Rows[1].Values = []uint64{1000, 1}, []uint64{1000, 1000}

	periods := program("/bin/spin", 0, names, 180, 20)
	periods.Metrics[0] = profile.Metric{Name: "cycles", Unit: "counts", Scale: 1, Running: true, Squares: 2*90*90 + 20}
	periods.Accounts = []profile.Account{{Event: "cycles", Received: 22}}

	for name, tt := range map[string]struct {
		p    *profile.Profile
		want float64
	}{
		"samples":             {program("/bin/spin", 0, names, 30, 20), 50},
		"periods of an event": {clock, 100},
		"a fixed period":      {golang, 50},
		// Two samples of 90 and twenty of 1 are worth little more than the two.
		"different periods": {periods, 200 * 200 / (2*90*90 + 20*1.)},
		// The wait that takes half of the time counts for itself only.
		"times of waits": {waits, 2000 * 2000 / (1000*1000/1 + 1000*1000/1000.)},
		"folded periods": {program("", 0, names, 31*1001001, 20*1001001), 51},
		"none":           {program("/bin/spin", 0, names, 0, 0), 0},
	} {
		if got := Samples(tt.p, 0); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// Two runs of one program have the same shares. At most 5 % of its functions may be shown as changed.
func TestTwoRunsOfOneProgramDifferByChance(t *testing.T) {
	const functions, runs = 40, 200
	for _, samples := range []int{100, 1000} {
		r := rand.New(rand.NewPCG(5, uint64(samples)))
		changed := 0
		for range runs {
			var counts [2][functions]uint64
			for side := range counts {
				for range samples {
					counts[side][int(functions*math.Pow(r.Float64(), 3))]++ // a few hot functions, many cold ones
				}
			}
			for i := range functions {
				change, margin := Change(Share{counts[0][i], uint64(samples), float64(samples)}, Share{counts[1][i], uint64(samples), float64(samples)})
				if math.Abs(change) > margin {
					changed++
				}
			}
		}
		const n = functions * runs
		if most := n - leastCoverage(n); changed > most {
			t.Errorf("%d samples: %d of %d functions seem to have changed, want at most %d", samples, changed, n, most)
		}
	}
}

// Waits differ in length by orders of magnitude, so few of them decide about the sum.
func TestTheMarginHoldsForSamplesOfUnequalWeights(t *testing.T) {
	const trials, waits, share = 2000, 400, 0.2
	r := rand.New(rand.NewPCG(7, 8))
	covered := 0
	for range trials {
		var sides [2]Share
		for i := range sides {
			p := &profile.Profile{Metrics: []profile.Metric{{Unit: "nanoseconds"}, {Unit: "counts"}}}
			for range waits {
				p.Rows = append(p.Rows, profile.Row{Values: []uint64{uint64(1e6 * math.Exp(r.NormFloat64())), 1}})
				sides[i].Whole += p.Rows[len(p.Rows)-1].Values[0]
				if r.Float64() < share {
					sides[i].Part += p.Rows[len(p.Rows)-1].Values[0]
				}
			}
			sides[i].Samples = Samples(p, 0)
		}
		if change, margin := Change(sides[0], sides[1]); math.Abs(change) <= margin {
			covered++
		}
	}
	if covered < leastCoverage(trials) {
		t.Errorf("the true change is within the margin in %d of %d comparisons", covered, trials)
	}
}
