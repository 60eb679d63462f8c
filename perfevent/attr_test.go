package perfevent

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	perf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/compiled"
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

func TestSampleAttrAsksForWhatTheSamplingSays(t *testing.T) {
	const base = unix.PerfBitWatermark | unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitDisabled
	clock := CPUClock()
	tests := []struct {
		name       string
		sampling   Sampling
		inherit    bool
		bits       uint64 // beside base
		sampleType uint64 // beside fixedSample
		sample     uint64
	}{
		{"frequency", Sampling{Event: clock, Frequency: 49}, false, unix.PerfBitFreq, unix.PERF_SAMPLE_PERIOD, 49},
		{"every event", Sampling{Event: clock, Period: 1}, true, unix.PerfBitInherit, unix.PERF_SAMPLE_PERIOD, 1},
		{"a period must not come with PERIOD", Sampling{Event: clock, Period: 1000}, false, 0, 0, 1000},
		{"user only", Sampling{Event: clock, Period: 2, ExcludeKernel: true}, false, unix.PerfBitExcludeKernel | unix.PerfBitExcludeHv, 0, 2},
		{"kernel only", Sampling{Event: clock, Period: 2, ExcludeUser: true}, false, unix.PerfBitExcludeUser, 0, 2},
		{"no idle", Sampling{Event: clock, Period: 2, ExcludeIdle: true}, false, unix.PerfBitExcludeIdle, 0, 2},
		{"user callchain", Sampling{Event: clock, Period: 2, Callchain: CallchainMode{User: true}}, false,
			unix.PerfBitExcludeCallchainKernel, unix.PERF_SAMPLE_CALLCHAIN, 2},
		{"kernel callchain", Sampling{Event: clock, Period: 2, Callchain: CallchainMode{Kernel: true}}, false,
			unix.PerfBitExcludeCallchainUser, unix.PERF_SAMPLE_CALLCHAIN, 2},
		{"precise_ip 1", Sampling{Event: clock, Period: 2, PreciseIP: 1}, false, unix.PerfBitPreciseIPBit1, 0, 2},
		{"precise_ip 2", Sampling{Event: clock, Period: 2, PreciseIP: 2}, false, unix.PerfBitPreciseIPBit2, 0, 2},
		{"precise_ip 3", Sampling{Event: clock, Period: 2, PreciseIP: 3}, false, unix.PerfBitPreciseIPBit1 | unix.PerfBitPreciseIPBit2, 0, 2},
		{"registers and stack", Sampling{Event: clock, Period: 2, UserRegs: 1 << 8, UserStack: 512}, false, 0,
			unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER, 2},
		{"interrupt registers", Sampling{Event: clock, Period: 2, IntrRegs: 1 << 8}, false, 0, unix.PERF_SAMPLE_REGS_INTR, 2},
		{"a function's address is in its raw data, its user stack nowhere", Sampling{Event: FunctionEntry(1), Period: 2}, false,
			unix.PerfBitExcludeCallchainUser, unix.PERF_SAMPLE_RAW, 2},
		{"address, raw, cgroup", Sampling{Event: clock, Period: 2, Addr: true, Raw: true, Cgroup: true}, false, 0,
			unix.PERF_SAMPLE_ADDR | unix.PERF_SAMPLE_RAW | unix.PERF_SAMPLE_CGROUP, 2},
	}
	for _, tt := range tests {
		got := sampleAttr(&tt.sampling, tt.inherit, 4096, readFormat)
		if got.Bits != base|tt.bits || got.Sample_type != fixedSample|tt.sampleType || got.Sample != tt.sample {
			t.Errorf("%s: bits %#x, sample type %#x, sample %d; want %#x, %#x, %d", tt.name,
				got.Bits, got.Sample_type, got.Sample, base|tt.bits, fixedSample|tt.sampleType, tt.sample)
		}
		if got.Sample_regs_intr != tt.sampling.IntrRegs {
			t.Errorf("%s: interrupt registers %#x", tt.name, got.Sample_regs_intr)
		}
		if got.Clockid != unix.CLOCK_MONOTONIC || got.Wakeup != 4096 || got.Sample_stack_user != tt.sampling.UserStack {
			t.Errorf("%s: clock %d, wakeup %d, stack %d", tt.name, got.Clockid, got.Wakeup, got.Sample_stack_user)
		}
	}
}

func TestEventConfigurationReachesTheSystemCall(t *testing.T) {
	watch := Breakpoint(BreakpointWrite, 0x1234, 8)
	got := sampleAttr(&Sampling{Event: watch, Period: 1}, false, 0, 0)
	if got.Type != unix.PERF_TYPE_BREAKPOINT || got.Bp_type != uint32(perf.BreakpointTypeW) || got.Ext1 != 0x1234 || got.Ext2 != 8 {
		t.Errorf("breakpoint became %+v", got)
	}
}

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

// The bits that x/sys does not name are compared with the system's own header.
func TestAttrBitsAreThoseOfTheKernelsHeader(t *testing.T) {
	const program = `#include <linux/perf_event.h>
#include <stdio.h>
#define SHOW(field) do { struct perf_event_attr a = {}; a.field = 1; \
	printf("%llx\n", ((unsigned long long *)&a)[5]); } while (0)
int main(void) { SHOW(namespaces); SHOW(cgroup); SHOW(precise_ip); }`
	dir, err := compiled.Recipe{
		Sources:  map[string]string{"bits.c": program},
		Commands: [][]string{{"gcc", "-o", "bits", "bits.c"}},
	}.Try(t)
	if err != nil {
		t.Skipf("no <linux/perf_event.h> of Linux 5.7 or later: %v", err)
	}
	out, err := exec.Command(filepath.Join(dir, "bits")).Output()
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%x\n%x\n%x\n", uint64(bitNamespaces), uint64(bitCgroup), 1<<bitPreciseIP)
	if string(out) != want {
		t.Errorf("the header's bits are\n%sours\n%s", out, want)
	}
}

func TestOpeningGivesUpTheNewestFeatureFirst(t *testing.T) {
	s := &Session{format: readFormat}
	steps := []struct {
		err     error
		again   bool
		dropped uint64
		lost    bool // lost counts are still asked for
	}{
		{unix.ENOENT, false, 0, true},
		{unix.EACCES, true, bitNamespaces, true},
		{unix.EPERM, false, bitNamespaces, true},
		{unix.EINVAL, true, bitNamespaces, true}, // keepsContexts
		{unix.EINVAL, true, bitNamespaces, false},
		{unix.EINVAL, true, bitNamespaces | bitCgroup, false},
		{unix.EINVAL, false, bitNamespaces | bitCgroup, false},
	}
	for i, step := range steps {
		again := s.dropFeature(step.err)
		if lost := s.format&unix.PERF_FORMAT_LOST != 0; again != step.again || s.dropped != step.dropped || lost != step.lost {
			t.Errorf("step %d, %v: again %v, dropped %#x, lost counts %v; want %v, %#x, %v", i, step.err,
				again, s.dropped, lost, step.again, step.dropped, step.lost)
		}
	}
}
