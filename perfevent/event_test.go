package perfevent

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestEventsHavePerfsNames(t *testing.T) {
	tests := []struct {
		event        Event
		name         string
		kind, config uint64
	}{
		{CPUClock(), "cpu-clock", unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_CPU_CLOCK},
		{CPUCycles(), "cycles", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES},
		{Hardware(HardwareCPUCycles), "cycles", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_CPU_CYCLES},
		{Hardware(HardwareInstructions), "instructions", unix.PERF_TYPE_HARDWARE, unix.PERF_COUNT_HW_INSTRUCTIONS},
		{Software(SoftwarePageFaults), "page-faults", unix.PERF_TYPE_SOFTWARE, unix.PERF_COUNT_SW_PAGE_FAULTS},
		{HardwareCache(CacheLL, CacheLoad, true), "LLC-load-misses", unix.PERF_TYPE_HW_CACHE, 0x10002},
		{HardwareCache(CacheL1D, CacheStore, false), "L1-dcache-stores", unix.PERF_TYPE_HW_CACHE, 0x100},
		{Tracepoint(314, "sched:sched_switch"), "sched:sched_switch", unix.PERF_TYPE_TRACEPOINT, 314},
		{Breakpoint(BreakpointRead|BreakpointWrite, 0x1000, 4), "mem:0x1000/4:rw", unix.PERF_TYPE_BREAKPOINT, 0},
		{Breakpoint(BreakpointExecute, 0x1000, 0), "mem:0x1000:x", unix.PERF_TYPE_BREAKPOINT, 0},
		{Event{}, "type 0 config 0x0", 0, 0},
	}
	for _, tt := range tests {
		if got := tt.event.String(); got != tt.name {
			t.Errorf("name %q, want %q", got, tt.name)
		}
		if uint64(tt.event.attr.Type) != tt.kind || tt.event.attr.Config != tt.config {
			t.Errorf("%s has type %d, config %#x; want %d, %#x", tt.name, tt.event.attr.Type, tt.event.attr.Config, tt.kind, tt.config)
		}
	}
}

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
