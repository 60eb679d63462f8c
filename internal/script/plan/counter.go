package plan

import (
	"cmp"
	"fmt"
)

// counter reads NAME:COUNT.
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

// shared tells whether newer kernels mix up the samples of several events of this kind (see
// perfevent.Sampling), so that all clauses of one take part in one event.
func (s *Sample) shared() bool {
	return s.Kind == "software" && s.Name != "cpu-clock" && s.Name != "task-clock"
}

// once takes other's part: it makes the period one that both periods are multiples of.
func (s *Sample) once(other Sample) {
	a, b := s.Period, other.Period
	for b > 0 {
		a, b = b, a%b
	}
	s.Period = a
}

// otherNames are bpftrace's names for events that perf calls something else (SW_PROBE_LIST and
// HW_PROBE_LIST in its src/probe_matcher.h), with perf's.
var otherNames = map[string]string{
	"faults": "page-faults", "cs": "context-switches", "cpu": "cpu-clock", "cpu-cycles": "cycles", "branches": "branch-instructions",
	"backend-stalls": "stalled-cycles-backend", "frontend-stalls": "stalled-cycles-frontend",
}

// fullName returns perf's name of an event for one that bpftrace also has.
func fullName(name string) string { return cmp.Or(otherNames[name], name) }

// OtherName returns the name that bpftrace has for an event of perf, "" if it has no other.
func OtherName(event string) string {
	for other, name := range otherNames {
		if name == event {
			return other
		}
	}
	return ""
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
