package atsample

import (
	"slices"
	"testing"

	"github.com/ringtap/ringtap/perfevent"
)

func TestHitsWakeTheHelperAsOftenAsItMayRead(t *testing.T) {
	const second = uint64(1e9)
	type look struct {
		at, rate uint64
		want     uint32
	}
	for _, test := range []struct {
		name  string
		every uint32
		looks []look
	}{
		{"few", 1, []look{{second, 1250, 1}, {4 * second, 0, 1}}},
		{"a burst counts immediately", 1, []look{{second, 1251, 3}, {second + 1, 100_000, 163}}},
		{"the largest burst", 1, []look{{second, 1e9, 10949}}},
		{"a short pause changes nothing", 79, []look{{second, 90_000, 79}, {2 * second, 0, 79}, {3 * second, 90_000, 79}, {4 * second, 0, 79}}},
		{"a lower rate counts after a while", 79, []look{{second, 0, 79}, {2 * second, 1000, 79}, {4 * second, 0, 1}}},
		{"a little less is no reason to change", 79, []look{{second, 30_000, 79}, {4 * second, 30_000, 79}}},
	} {
		w := hitGroup{wakeupEvery: test.every}
		for _, l := range test.looks {
			w.wakeupEvery = w.choose(l.rate, MaxVisitRate, l.at)
			if w.wakeupEvery != l.want {
				t.Errorf("%s: at %d hits per second one in %d wakes, want %d", test.name, l.rate, w.wakeupEvery, l.want)
			}
		}
	}
}

func TestUrgentHitsWakeWhileTheyAreFew(t *testing.T) {
	const second = uint64(1e9)
	hit := perfevent.Sampling{Event: perfevent.Tracepoint(1, "a:b"), Period: 1, WakeupEvents: 1}
	p := NewWakeupThrottle([]perfevent.Sampling{hit, hit, {Event: hit.Event, Period: 1}}, []int{1}, 5)
	if !slices.Equal(p.others.samplings, []int{5}) || !slices.Equal(p.urgent.samplings, []int{6}) {
		t.Fatalf("samplings %v and %v", p.others.samplings, p.urgent.samplings)
	}
	for _, test := range []struct {
		name           string
		at             uint64
		hits           Hits
		urgent, others uint32
	}{
		{"few of both", second, Hits{All: 1000, Urgent: 500}, 1, 1},
		{"many others", 2 * second, Hits{All: 50_000, Urgent: 500}, 1, 163},
		{"many of both", 3 * second, Hits{All: 50_000, Urgent: 5000}, 163, 163},
		{"urgent ones are few for a moment", 4 * second, Hits{All: 50_000, Urgent: 50}, 163, 163},
		{"and for a while", 7 * second, Hits{All: 50_000, Urgent: 50}, 1, 163},
		{"few of both again", 30 * second, Hits{All: 500, Urgent: 50}, 1, 1},
	} {
		urgent, others := p.choose(test.hits, test.at)
		p.urgent.wakeupEvery, p.others.wakeupEvery = urgent, others
		if urgent != test.urgent || others != test.others {
			t.Errorf("%s: of the urgent hits one in %d wakes, of the others one in %d; want %d and %d", test.name, urgent, others, test.urgent, test.others)
		}
	}
}

func TestClocksChangeWhichHitsWake(t *testing.T) {
	clock := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 99, WakeupEvents: 1}
	hit := perfevent.Sampling{Event: perfevent.Tracepoint(1, "a:b"), Period: 1}
	soon := hit
	soon.WakeupEvents = 1
	for _, test := range []struct {
		name      string
		samplings []perfevent.Sampling
		want      int
	}{
		{"each sample of a clock wakes", []perfevent.Sampling{clock}, 0},
		{"none wakes", []perfevent.Sampling{hit}, 0},
		{"hits wake", []perfevent.Sampling{clock, hit, soon}, len(dithers)},
	} {
		got := Dither(test.samplings)
		if len(got) != test.want {
			t.Errorf("%s: %d samplings", test.name, len(got))
		}
	}
}
