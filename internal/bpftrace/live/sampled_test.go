package live

import (
	"strings"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/readmem/athit"
	"github.com/ringtap/ringtap/perfevent"
)

func TestSampledEventsAreThoseOfPerf(t *testing.T) {
	for _, test := range []struct {
		sample plan.Sample
		event  string
		period uint64
		rate   uint64
	}{
		{plan.Sample{Kind: "profile", Frequency: 99}, "cpu-clock", 0, 99},
		{plan.Sample{Kind: "profile", Period: 1e6}, "cpu-clock", 1e6, 0},
		{plan.Sample{Kind: "software", Name: "page-faults", Period: 1}, "page-faults", 1, 0},
		{plan.Sample{Kind: "software", Name: "major-faults", Period: 1}, "major-faults", 1, 0},
		{plan.Sample{Kind: "hardware", Name: "cache-misses", Period: 1_000_000}, "cache-misses", 1_000_000, 0},
		{plan.Sample{Kind: "hardware", Name: "cycles", Period: 5}, "cycles", 5, 0},
		{plan.Sample{Kind: "watchpoint", Address: 0x1000, Length: 8, Mode: "rw"}, "mem:0x1000/8:rw", 1, 0},
	} {
		s, err := sampling(test.sample, false)
		if err != nil || s.Event.String() != test.event || s.Period != test.period || s.Frequency != test.rate {
			t.Errorf("%+v: %s, one of %d, %d a second, %v", test.sample, s.Event, s.Period, s.Frequency, err)
		}
	}
}

func TestEventsThatAreNotThereAreRefused(t *testing.T) {
	for _, test := range []struct {
		sample plan.Sample
		system bool
		want   string
	}{
		{plan.Sample{Kind: "software", Name: "nosuch"}, false, `there is no software event "nosuch"`},
		{plan.Sample{Kind: "hardware", Name: "page-faults"}, false, `there is no hardware event "page-faults"`},
		{plan.Sample{Kind: "watchpoint", Address: 0x1000, Length: 8, Mode: "w"}, true, "name one with -p or -c"},
	} {
		if _, err := sampling(test.sample, test.system); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %s", test.sample, err, test.want)
		}
	}
}

func TestSamplingsCarryWhatTheirClausesTake(t *testing.T) {
	aside := perfevent.Sampling{Event: perfevent.CPUClock(), Period: 9}
	f := &feed{Attachment: &Attachment{extraEvents: []perfevent.Sampling{aside}, sources: []*source{
		{event: &plan.Event{}, sample: perfevent.Sampling{Period: 1}},
		{event: &plan.Event{}, sample: perfevent.Sampling{Period: 1}, reads: make([]athit.Pointer, 1)},
		{event: &plan.Event{Reads: true}, sample: perfevent.Sampling{Period: 1}},
	}}}
	all := f.samplings()
	if len(all) != 4 || all[3].Period != 9 {
		t.Fatalf("%+v", all)
	}
	if all[0].UserRegs != 0 || all[0].UserStack != 0 {
		t.Errorf("a hit without reads has %+v", all[0])
	}
	for _, s := range all[1:3] {
		if s.UserStack != athit.StackBytes || s.UserRegs != callchain.Host().UserRegsMask() {
			t.Errorf("a hit whose memory is read has %+v", s)
		}
	}
}
