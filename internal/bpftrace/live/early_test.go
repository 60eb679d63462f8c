package live

import (
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/perfevent"
)

func TestOnlyHitsThatAggregateAreHandledInTheRing(t *testing.T) {
	for _, test := range []struct {
		name                 string
		aggregates, commutes bool
		event                plan.Event
		first, later         bool // whether a hit qualifies that is next, and one that is not
	}{
		{"aggregates in any order", true, true, plan.Event{}, true, true},
		{"aggregates between intervals", true, false, plan.Event{}, true, false},
		{"prints", false, false, plan.Event{}, false, false},
		{"has a stack", true, true, plan.Event{Uses: []plan.Use{{Fields: []plan.Field{{From: plan.UserStack}}}}}, true, true},
		{"asks /proc", true, true, plan.Event{Uses: []plan.Use{{Fields: []plan.Field{{From: plan.Process}}}}}, false, false},
		{"reads memory", true, true, plan.Event{Reads: true}, false, false},
	} {
		f := &feed{Attachment: &Attachment{aggregates: test.aggregates, commutes: test.commutes, sources: []*source{{event: &test.event}}}}
		f.markEarly()
		hit := &perfevent.Sample{}
		if first, later := f.MayPass(hit, true), f.MayPass(hit, false); first != test.first || later != test.later {
			t.Errorf("%s: next %t, later %t", test.name, first, later)
		}
		if f.MayPass(&perfevent.Comm{}, true) || f.MayPass(&perfevent.Sample{Header: perfevent.Header{}, Sampling: 1}, true) {
			t.Errorf("%s: a record that is no hit passes", test.name)
		}
	}
}
