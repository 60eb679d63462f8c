package moment

import (
	"testing"

	"github.com/ringtap/ringtap/perfevent"
)

func TestHitsWakeTheReaderAsOftenAsItMayRead(t *testing.T) {
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
		{"a storm is heeded at once", 1, []look{{second, 1251, 3}, {second + 1, 100_000, 163}}},
		{"any storm", 1, []look{{second, 1e9, 10949}}},
		{"a pause is none", 79, []look{{second, 90_000, 79}, {2 * second, 0, 79}, {3 * second, 90_000, 79}, {4 * second, 0, 79}}},
		{"calm comes after a while", 79, []look{{second, 0, 79}, {2 * second, 1000, 79}, {4 * second, 0, 1}}},
		{"a little less is no reason to change", 79, []look{{second, 30_000, 79}, {4 * second, 30_000, 79}}},
	} {
		w := Pace{every: test.every}
		for _, l := range test.looks {
			w.every = w.choose(l.rate, l.at)
			if w.every != l.want {
				t.Errorf("%s: of %d hits a second one in %d wakes, want %d", test.name, l.rate, w.every, l.want)
			}
		}
	}
}

func TestAClockChangesWhichHitsWake(t *testing.T) {
	clock := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 99, Soon: true}
	hit := perfevent.Sampling{Event: perfevent.Tracepoint(1, "a:b"), Period: 1}
	soon := hit
	soon.Soon = true
	for _, test := range []struct {
		name      string
		samplings []perfevent.Sampling
		want      int
	}{
		{"of a clock each sample wakes", []perfevent.Sampling{clock}, 0},
		{"none wakes", []perfevent.Sampling{hit}, 0},
		{"hits wake", []perfevent.Sampling{clock, hit, soon}, 1},
	} {
		got := Dither(test.samplings)
		if len(got) != test.want {
			t.Errorf("%s: %d samplings", test.name, len(got))
		}
	}
}
