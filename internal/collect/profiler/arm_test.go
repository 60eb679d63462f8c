package profiler

import (
	"errors"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/cli/usage"
	"github.com/ringtap/ringtap/internal/collect/llc"
	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// standing is a collector of what stands.
type standing struct{ oncpu.Collector }

func (s *standing) Plan() table.Plan {
	return table.Plan{Name: "leaks", Standing: true}
}

func TestOnlyCollectorsThatCanTellWhatWasBeforeAreAsked(t *testing.T) {
	llc := llc.New(100, stack.Stacks{})
	onCPU := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 49}
	for _, test := range []struct {
		name       string
		collectors []table.Collector
		want       string
	}{
		{"samples of time", []table.Collector{onCPU}, ""},
		{"what stands, before it", []table.Collector{onCPU, &standing{}}, "leaks depends on everything since the start"},
		{"counters, before it", []table.Collector{onCPU, llc}, "llc scales by how long its counters had the hardware"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := CheckBefore(test.collectors)
			var usage *usage.Error
			if test.want == "" && err == nil || errors.As(err, &usage) && test.want != "" && strings.Contains(err.Error(), test.want) {
				return
			}
			t.Errorf("%v, want %q", err, test.want)
		})
	}
}
