package profiler

import (
	"testing"

	"github.com/ringtap/ringtap/internal/table"
)

func TestCopiesOfTheStackStayWithinTheirBudget(t *testing.T) {
	const budget = 64 << 20
	for _, test := range []struct {
		name               string
		bytes              uint32
		budget             uint64
		samples, cut, rate uint64
		want               uint32
	}{
		{"few are cut", 1024, budget, 1000, 10, 1000, 1024},
		{"some are cut, of few samples", 1024, budget, 1000, 11, 1000, 8 << 10},
		{"some are cut, of more", 1024, budget, 1000, 11, 20000, 2048},
		{"few samples without a budget", 512, 0, 1000, 900, 1000, 4 << 10},
		{"no leap past plenty", 4096, 4 * budget, 1000, 1000, 10000, 8 << 10},
		{"but steps to the budget", 8 << 10, 4 * budget, 1000, 1000, 10000, 16 << 10},
		{"a larger copy is beyond the budget", 1024, budget, 1000, 900, 60000, 1024},
		{"the next size is just within it", 1024, budget, 1000, 900, 40000, 1536},
		{"a storm", 4096, budget, 1000, 0, 40000, 1536},
		{"a great storm", 4096, budget, 1000, 1000, 500000, 512},
		{"a little beyond it is no reason to change", 1024, budget, 1000, 0, 100000, 1024},
		{"without a budget", 512, 0, 1000, 900, 1000000, 768},
		{"nothing is larger", 32 << 10, 0, 1000, 900, 10, 32 << 10},
	} {
		g := growth{bytes: test.bytes, least: 512, budget: test.budget}
		if got := g.choose(test.samples, test.cut, test.rate); got != test.want {
			t.Errorf("%s: from %d to %d bytes, want %d", test.name, test.bytes, got, test.want)
		}
	}
}

// What comes in bursts of ten milliseconds does not come 9,000 times a second.
func TestABurstIsNoStorm(t *testing.T) {
	g := growth{bytes: 32 << 10, least: 512, budget: 64 << 20}
	r := &profiling{}
	var counts table.Counts
	for at := uint64(1e9); at < 2e9; at += 50e6 {
		r.grow(&g, counts, at)
		counts.Add(table.Counts{Samples: 90, Stacks: 90})
		r.grow(&g, counts, at+10e6)
	}
	if g.bytes != 32<<10 {
		t.Errorf("copies became %d bytes at 1,800 a second", g.bytes)
	}
}

// While the rings are more than half full, rounds follow each other and may end at one time.
func TestARoundOfNoTimeIsNoLook(t *testing.T) {
	g := growth{bytes: 32 << 10, least: 512, budget: 64 << 20}
	r := &profiling{}
	r.grow(&g, table.Counts{}, 1e9)
	r.grow(&g, table.Counts{Samples: 1e6, Stacks: 1e6}, 1e9)
	if g.looked != 1e9 || g.counts.Stacks != 0 || g.bytes != 32<<10 {
		t.Errorf("%+v: want nothing looked at", g)
	}
}

// Before a quarter of a second is over the rings would be, too.
func TestAStormIsMetAtOnce(t *testing.T) {
	g := growth{bytes: 32 << 10, least: 512, budget: 64 << 20}
	for _, test := range []struct {
		stacks, since uint64
		want          bool
	}{
		{900, 10e6, false},  // a burst: the rings hold it
		{2000, 10e6, true},  // 6 GiB a second
		{2000, 249e6, true}, // twice the budget
		{1100, 300e6, false},
	} {
		if got := g.floods(test.stacks, test.since); got != test.want {
			t.Errorf("%d stacks of 32 KiB in %d ms are a storm: %t", test.stacks, test.since/1e6, got)
		}
	}
	if g.budget = 0; g.floods(1<<40, 10e6) {
		t.Error("without a budget there is no storm")
	}
}
