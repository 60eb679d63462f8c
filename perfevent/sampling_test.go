package perfevent

import (
	"strings"
	"testing"
)

func TestSamplingIsCheckedBeforeTheKernelSeesIt(t *testing.T) {
	tests := []struct {
		sampling Sampling
		want     string
	}{
		{Sampling{Event: CPUClock()}, "exactly one of Period and Frequency"},
		{Sampling{Event: CPUClock(), Period: 1, Frequency: 1}, "exactly one of Period and Frequency"},
		{Sampling{Event: CPUClock(), Period: 1, UserStack: 100}, "multiple of 8"},
		{Sampling{Event: CPUClock(), Period: 1, UserStack: 65536}, "up to 65528"},
		{Sampling{Event: CPUClock(), Period: 1, PreciseIP: 4}, "precise_ip 4"},
	}
	for _, tt := range tests {
		_, err := Open(System(), []Sampling{tt.sampling}, Options{})
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "cpu-clock") {
			t.Errorf("Open gives %v, want an error with cpu-clock and %q", err, tt.want)
		}
	}
}

func TestOnlyCountingEventsAreExact(t *testing.T) {
	tests := []struct {
		sampling Sampling
		want     bool
	}{
		{Sampling{Event: Software(SoftwarePageFaults), Period: 1}, true},
		{Sampling{Event: Tracepoint(1, "a:b"), Period: 1}, true},
		{Sampling{Event: Breakpoint(BreakpointExecute, 1, 0), Period: 1}, true},
		{Sampling{Event: Software(SoftwarePageFaults), Period: 2}, false},
		{Sampling{Event: Software(SoftwareContextSwitches), Period: 1}, false},
		{Sampling{Event: CPUClock(), Period: 1}, false},
		{Sampling{Event: CPUCycles(), Period: 1}, false},
	}
	for _, tt := range tests {
		if got := tt.sampling.exact(); got != tt.want {
			t.Errorf("%s with period %d: exact is %v", tt.sampling.Event, tt.sampling.Period, got)
		}
	}
}
