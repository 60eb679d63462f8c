package session

import (
	"slices"
	"testing"
	"time"
)

func TestTicksComeInTheOrderOfTime(t *testing.T) {
	const ms = time.Millisecond
	ticks := newTicks(100*ms, []time.Duration{30 * ms, 20 * ms})
	type tick struct {
		interval int
		at       time.Duration
	}
	var got []tick
	for range 6 {
		i, at, _ := ticks.next()
		got = append(got, tick{i, at})
		ticks.done(i, at+5*ms)
	}
	want := []tick{{1, 120 * ms}, {0, 130 * ms}, {1, 140 * ms}, {0, 160 * ms}, {1, 160 * ms}, {1, 180 * ms}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestTicksThatAreTooLateAreSkippedAndCounted(t *testing.T) {
	ticks := newTicks(0, []time.Duration{time.Second})
	i, at, _ := ticks.next()
	ticks.done(i, at+10*time.Second+time.Millisecond)
	if _, at, _ := ticks.next(); at != 12*time.Second || ticks.Skipped != 10 {
		t.Errorf("next at %v, %d skipped", at, ticks.Skipped)
	}
	if _, _, ok := newTicks(0, nil).next(); ok {
		t.Error("no interval ticks")
	}
}
