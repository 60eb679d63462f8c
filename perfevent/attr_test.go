package perfevent

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"

	perf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testkit/compiled"
)

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
