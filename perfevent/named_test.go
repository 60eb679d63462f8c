package perfevent

import "testing"

func TestEventsThatAreListedHaveNamesOfTheirOwn(t *testing.T) {
	seen := make(map[string]bool)
	for _, e := range append(SoftwareEvents(), HardwareEvents()...) {
		if name := e.String(); seen[name] || name == "" {
			t.Errorf("%q is listed twice", name)
		} else {
			seen[name] = true
		}
	}
	for _, name := range []string{"cpu-clock", "page-faults", "cycles", "LLC-load-misses"} {
		if !seen[name] {
			t.Errorf("%s is not listed", name)
		}
	}
}

func TestTheClockIsAvailableAndAnUnknownTracepointIsNot(t *testing.T) {
	if !Available(CPUClock()) {
		t.Skip("perf events: not even the clock can be opened here")
	}
	if Available(Tracepoint(1<<40, "none:none")) {
		t.Error("a tracepoint that does not exist is available")
	}
}
