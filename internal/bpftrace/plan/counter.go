package plan

import (
	"cmp"
	"fmt"
)

// counter parses NAME:COUNT. It returns "", or a message that says what is wrong.
func (s *Sample) counter(args []string) string {
	if len(args) == 0 || len(args) > 2 || args[0] == "" {
		return fmt.Sprintf("an event is %s:NAME or %[1]s:NAME:COUNT", s.Kind)
	}
	s.Name = fullName(args[0])
	s.Period = usualPeriod(s.Name)
	if len(args) == 2 && args[1] != "" {
		n, err := count(args[1])
		if err != nil || n < 1 {
			return fmt.Sprintf("%q is no count", args[1])
		}
		s.Period = n
	}
	return ""
}

// shared reports whether all clauses at this event must share one perf event. Newer kernels mix up
// the samples if several events of this kind are open (see perfevent.Sampling).
func (s *Sample) shared() bool {
	return s.Kind == "software" && s.Name != "cpu-clock" && s.Name != "task-clock"
}

// once sets the period to the largest one that divides the periods of both s and other.
func (s *Sample) once(other Sample) {
	a, b := s.Period, other.Period
	for b > 0 {
		a, b = b, a%b
	}
	s.Period = a
}

// otherNames maps bpftrace's names of events to perf's, if they differ (SW_PROBE_LIST and
// HW_PROBE_LIST in bpftrace's src/probe_matcher.h).
var otherNames = map[string]string{
	"faults": "page-faults", "cs": "context-switches", "cpu": "cpu-clock", "cpu-cycles": "cycles", "branches": "branch-instructions",
	"backend-stalls": "stalled-cycles-backend", "frontend-stalls": "stalled-cycles-frontend",
}

// fullName returns perf's name of the event that bpftrace calls name.
func fullName(name string) string { return cmp.Or(otherNames[name], name) }

// OtherName returns bpftrace's own name for perf's event, or "" if they use the same one.
func OtherName(event string) string {
	for other, name := range otherNames {
		if name == event {
			return other
		}
	}
	return ""
}

// usualPeriod returns bpftrace's sampling period for an event if the program gives none
// (SW_PROBE_LIST and HW_PROBE_LIST in bpftrace's src/list.h).
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
