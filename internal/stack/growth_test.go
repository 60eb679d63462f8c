package stack

import (
	"log/slog"
	"testing"

	"github.com/ringtap/ringtap/perfevent"
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
		g := Growth{bytes: test.bytes, smallest: 512, budget: test.budget}
		if got := g.choose(test.samples, test.cut, test.rate); got != test.want {
			t.Errorf("%s: from %d to %d bytes, want %d", test.name, test.bytes, got, test.want)
		}
	}
}

// look has a Growth look at counts that change nothing.
func look(g *Growth, now GrowthCounts, before uint64) {
	g.Look(nil, now, before, slog.New(slog.DiscardHandler))
}

// What comes in bursts of ten milliseconds does not come 9,000 times a second.
func TestABurstIsNoStorm(t *testing.T) {
	g := Growth{bytes: 32 << 10, smallest: 512, budget: 64 << 20}
	var counts GrowthCounts
	for at := uint64(1e9); at < 2e9; at += 50e6 {
		look(&g, counts, at)
		counts.Stacks += 90
		look(&g, counts, at+10e6)
	}
	if g.bytes != 32<<10 {
		t.Errorf("copies became %d bytes at 1,800 a second", g.bytes)
	}
}

// While the rings are more than half full, rounds follow each other and may end at one time.
func TestARoundOfNoTimeIsNoLook(t *testing.T) {
	g := Growth{bytes: 32 << 10, smallest: 512, budget: 64 << 20}
	look(&g, GrowthCounts{}, 1e9)
	look(&g, GrowthCounts{Stacks: 1e6}, 1e9)
	if g.looked != 1e9 || g.counts.Stacks != 0 || g.bytes != 32<<10 {
		t.Errorf("%+v: want nothing looked at", g)
	}
}

// Before a quarter of a second is over the rings would be, too.
func TestAStormIsMetAtOnce(t *testing.T) {
	g := Growth{bytes: 32 << 10, smallest: 512, budget: 64 << 20}
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

func TestCopiesBecomeHalfAsLargeWhereRecordsAreLost(t *testing.T) {
	for bytes, want := range map[uint32]uint32{512: 512, 1024: 512, 1536: 768, 4096: 2048, 32 << 10: 16 << 10} {
		if got := half(bytes, 512); got != want {
			t.Errorf("half of %d is %d, want %d", bytes, got, want)
		}
	}
}

// grower is a session whose copies change immediately.
type grower struct{ bytes uint32 }

func (g *grower) GrowStack(bytes uint32, _ ...int) error { g.bytes = bytes; return nil }
func (*grower) Grown(uint64) bool                        { return true }

func TestCopiesThatShrinkOnceGrowAgainWhenStacksAreCut(t *testing.T) {
	session := &grower{}
	stacks := Stacks{Copy: 2 << 10, Budget: 64 << 20}
	g := NewGrowth(&stacks, []perfevent.Sampling{{Period: 1, UserStack: 2 << 10}}, 0)
	g.Flood, g.Once = 8<<20, true
	g.Start(1e9)
	for _, step := range []struct {
		at, stacks, cut, lost uint64
		want                  uint32
	}{
		{1005e6, 2_000, 0, 0, 0},                     // the rings hold this burst
		{1020e6, 5_000, 0, 0, 512},                   // a storm
		{1300e6, 100_000, 900, 0, 512},               // less than one of 100 is cut
		{1600e6, 200_000, 10_900, 0, 768},            // the budget no longer counts
		{1900e6, 300_000, 20_900, 0, 1 << 10},        //
		{2200e6, 400_000, 30_900, 10_000, 512},       // the reader does not keep up
		{2500e6, 500_000, 40_900, 10_000, 512},       // and gets some time
		{13_000e6, 600_000, 50_900, 10_000, 4 << 10}, // few samples: larger copies cost little
	} {
		g.Look(session, GrowthCounts{Stacks: step.stacks, Cut: step.cut, Lost: step.lost}, step.at, slog.New(slog.DiscardHandler))
		if session.bytes != step.want {
			t.Errorf("after %d ms copies have %d bytes, want %d", step.at/1e6-1000, session.bytes, step.want)
		}
	}
}

// When a program starts its work, the first stacks of an interval say little about the next ones.
func TestCopiesStaySmallUntilTheRateIsKnown(t *testing.T) {
	session := &grower{}
	stacks := Stacks{Copy: 512}
	g := NewGrowth(&stacks, []perfevent.Sampling{{Period: 1, UserStack: 512}}, 0)
	g.Start(1e9)
	for _, step := range []struct {
		at, stacks, cut uint64
		want            uint32
	}{
		{1250e6, 0, 0, 0},
		{1500e6, 100, 4, 0},                // the work may have begun at 1495 ms
		{1750e6, 10_000, 4, 0},             // which it had
		{2000e6, 10_000, 4, 0},             // it pauses
		{2250e6, 10_100, 104, 0},           // and goes on
		{2500e6, 10_200, 204, 4 << 10},     // slowly
		{2750e6, 10_300, 304, 32 << 10},    //
		{3000e6, 10_400, 10_400, 32 << 10}, // the largest
	} {
		g.Look(session, GrowthCounts{Stacks: step.stacks, Cut: step.cut}, step.at, slog.New(slog.DiscardHandler))
		if session.bytes != step.want {
			t.Errorf("after %d ms copies have %d bytes, want %d", step.at/1e6-1000, session.bytes, step.want)
		}
	}
}

func TestCopiesExceedTheirBudgetBeforeTheyChange(t *testing.T) {
	g := Growth{bytes: 2 << 10, smallest: 512, budget: 64 << 20}
	g.Start(1e9)
	if !g.Exceeds(GrowthCounts{Stacks: 1000}, 1005e6) || g.Exceeds(GrowthCounts{Stacks: 100}, 1005e6) || g.Exceeds(GrowthCounts{Stacks: 1000}, 1e9) {
		t.Error("200,000 stacks a second exceed the budget, 20,000 do not, and no time tells nothing")
	}
	if g.bytes = 512; g.Exceeds(GrowthCounts{Stacks: 5000}, 1005e6) {
		t.Error("the smallest copies cannot shrink")
	}
}
