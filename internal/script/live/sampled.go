package live

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/script/plan"
	"github.com/ringtap/ringtap/perfevent"
)

// attachSampled attaches an event that perf samples.
func (a *Attachment) attachSampled(event *plan.Event) error {
	s, err := sampling(event.Sample, a.options.Target.String() == perfevent.System().String())
	if err != nil {
		return err
	}
	a.sources = append(a.sources, &source{event: event, sample: s, stacks: stacksOf(event), name: event.Sample.Name})
	return nil
}

// sampling returns the sampling of an event, of the whole system or of a target in it.
func sampling(s plan.Sample, system bool) (perfevent.Sampling, error) {
	switch {
	case s.Kind == "profile" && s.Frequency > 0:
		return perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: s.Frequency}, nil
	case s.Kind == "profile":
		return perfevent.Sampling{Event: perfevent.CPUClock(), Period: s.Period}, nil
	case s.Kind == "watchpoint":
		return watchpoint(s, system)
	}
	name, period, known := s.Name, s.Period, perfevent.SoftwareEvents()
	if s.Kind == "hardware" {
		known = perfevent.HardwareEvents()
	}
	name = fullName(name)
	if period == 0 {
		period = usualPeriod(name)
	}
	for _, event := range known {
		if event.String() == name {
			return perfevent.Sampling{Event: event, Period: period}, nil
		}
	}
	return perfevent.Sampling{}, fmt.Errorf("there is no %s event %q", s.Kind, s.Name)
}

// fullName returns perf's name of an event for one that bpftrace also has
// (SW_PROBE_LIST and HW_PROBE_LIST in its src/list.h).
func fullName(name string) string {
	switch name {
	case "faults":
		return "page-faults"
	case "cs":
		return "context-switches"
	case "cpu":
		return "cpu-clock"
	case "cpu-cycles":
		return "cycles"
	case "branches":
		return "branch-instructions"
	case "backend-stalls":
		return "stalled-cycles-backend"
	case "frontend-stalls":
		return "stalled-cycles-frontend"
	}
	return name
}

// usualPeriod is how many events bpftrace takes one of where the program does not say
// (SW_PROBE_LIST and HW_PROBE_LIST in its src/list.h).
func usualPeriod(name string) uint64 {
	switch name {
	case "alignment-faults", "cpu-migrations", "dummy", "emulation-faults", "major-faults", "task-clock":
		return 1
	case "minor-faults", "page-faults":
		return 100
	case "context-switches":
		return 1000
	case "branch-instructions", "branch-misses", "bus-cycles":
		return 100_000
	}
	return 1_000_000
}

// watchpoint returns the sampling of accesses to memory.
func watchpoint(s plan.Sample, system bool) (perfevent.Sampling, error) {
	if system && int64(s.Address) >= 0 {
		return perfevent.Sampling{}, errors.New("an address of a program is another thing in each process: name one with -p or -c")
	}
	var kind perfevent.BreakpointKind
	for _, access := range []struct {
		letter string
		kind   perfevent.BreakpointKind
	}{{"r", perfevent.BreakpointRead}, {"w", perfevent.BreakpointWrite}, {"x", perfevent.BreakpointExecute}} {
		if strings.Contains(s.Mode, access.letter) {
			kind |= access.kind
		}
	}
	return perfevent.Sampling{Event: perfevent.Breakpoint(kind, s.Address, s.Length), Period: 1}, nil
}
