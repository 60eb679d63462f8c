package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// standing is a collector of what stands.
type standing struct{ collect.OnCPU }

func (s *standing) Plan() collect.Plan {
	return collect.Plan{Name: "leaks", Standing: true}
}

func TestOnlyCollectorsThatCanTellWhatWasBeforeAreAsked(t *testing.T) {
	llc := collect.NewLLC(100, stack.Stacks{})
	onCPU := &collect.OnCPU{Event: perfevent.CPUClock(), Frequency: 49}
	for _, test := range []struct {
		name       string
		before     time.Duration
		collectors []collect.Collector
		want       string
	}{
		{"samples of time", time.Second, []collect.Collector{onCPU}, ""},
		{"what stands, after an alarm", 0, []collect.Collector{&standing{}}, ""},
		{"what stands, before it", time.Second, []collect.Collector{onCPU, &standing{}}, "leaks tells what stands at the end of a time"},
		{"counters, after an alarm", 0, []collect.Collector{onCPU, llc}, ""},
		{"counters, before it", time.Second, []collect.Collector{onCPU, llc}, "llc scales by how long its counters had the hardware"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := (&triggerFlags{before: secondsFlag(test.before)}).suits(test.collectors)
			var usage *usageError
			if test.want == "" && err == nil || errors.As(err, &usage) && test.want != "" && strings.Contains(err.Error(), test.want) {
				return
			}
			t.Errorf("%v, want %q", err, test.want)
		})
	}
}
