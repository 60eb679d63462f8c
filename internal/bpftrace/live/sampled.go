package live

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/text/match"
	"github.com/ringtap/ringtap/perfevent"
)

// attachSampled attaches an event that perf samples.
func (a *Attachment) attachSampled(event *plan.Event) error {
	s, err := sampling(event.Sample, a.options.Target.String() == perfevent.System().String())
	if err != nil {
		return err
	}
	a.sources = append(a.sources, &source{event: event, sample: s, stacks: a.stacksOf(event), name: event.Sample.Name})
	return nil
}

// sampling returns the sampling of an event. system says that the whole system is sampled.
func sampling(s plan.Sample, system bool) (perfevent.Sampling, error) {
	switch {
	case s.Kind == "profile" && s.Frequency > 0:
		return perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: s.Frequency}, nil
	case s.Kind == "profile":
		return perfevent.Sampling{Event: perfevent.CPUClock(), Period: s.Period}, nil
	case s.Kind == "watchpoint":
		return watchpoint(s, system)
	}
	known := perfevent.SoftwareEvents()
	if s.Kind == "hardware" {
		known = perfevent.HardwareEvents()
	}
	for _, event := range known {
		if event.String() == s.Name {
			return perfevent.Sampling{Event: event, Period: s.Period}, nil
		}
	}
	return perfevent.Sampling{}, &eventError{s.Kind, s.Name, known}
}

// eventError says that there is no event with this name.
type eventError struct {
	kind, name string
	known      []perfevent.Event
}

func (e *eventError) Error() string { return fmt.Sprintf("there is no %s event %q", e.kind, e.name) }

// near returns a hint with similar names, or "" if there are none.
func (e *eventError) near() string {
	near := match.NewNearest(e.name, 1+len(e.name)/3, 3, match.ShortestFirst)
	for _, event := range e.known {
		near.Add(event.String())
	}
	if found := near.Names(); len(found) > 0 {
		return "did you mean " + strings.Join(found, " or ") + "?"
	}
	return ""
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
