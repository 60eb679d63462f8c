package perfevent

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestLiveOpenTellsTheKindsOfFailureApart(t *testing.T) {
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	pid := ended.Process.Pid
	tooFast := []Sampling{{Event: CPUClock(), Frequency: 1 << 40, ExcludeKernel: true}}
	tooDeep := []Sampling{{Event: CPUClock(), Frequency: 1, MaxStack: 65535, Callchain: CallchainMode{User: true}, ExcludeKernel: true}}
	noTracepoint := []Sampling{{Event: Tracepoint(1<<31, "no:such"), Period: 1, ExcludeKernel: true}}
	tests := []struct {
		name      string
		target    Target
		samplings []Sampling
		kind      error
		errno     error
		text      string
	}{
		{"a process that has ended", Process(pid), pageFaults(), ErrNoTarget, unix.ESRCH, "has ended"},
		{"a thread that has ended", Thread(pid), pageFaults(), ErrNoTarget, unix.ESRCH, "has ended"},
		{"a frequency beyond the limit", Process(unix.Getpid()), tooFast, ErrInvalid, unix.EINVAL,
			"perf_event_max_sample_rate, " + readSysctl("perf_event_max_sample_rate")},
		{"a stack beyond the limit", Process(unix.Getpid()), tooDeep, ErrInvalid, unix.EOVERFLOW,
			"perf_event_max_stack, " + readSysctl("perf_event_max_stack")},
		{"a tracepoint that does not exist", Process(unix.Getpid()), noTracepoint, ErrInvalid, unix.EINVAL, "no tracepoint 2147483648"},
	}
	for _, tt := range tests {
		s, err := Open(tt.target, tt.samplings, Options{})
		if err == nil {
			s.Close()
			t.Errorf("%s: opened", tt.name)
			continue
		}
		if !errors.Is(err, tt.kind) || !errors.Is(err, tt.errno) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%s: %v, want %v and %q", tt.name, err, tt.kind, tt.text)
		}
	}
}

func TestLiveCyclesExistOrTheErrorSaysThatTheyDoNot(t *testing.T) {
	s, err := Open(Process(unix.Getpid()), []Sampling{{Event: CPUCycles(), Frequency: 99, ExcludeKernel: true}}, Options{})
	if err == nil {
		s.Close()
		t.Skip("this machine has hardware counters")
	}
	var open *OpenError
	if !errors.Is(err, ErrNoEvent) || !errors.As(err, &open) || open.Event != "cycles" || !strings.Contains(open.Hint, "cpu-clock") {
		t.Errorf("%v, want ErrNoEvent for cycles, with the way out", err)
	}
}

func TestLiveCloseTwiceIsNoError(t *testing.T) {
	s, err := Open(Process(unix.Getpid()), []Sampling{{Event: CPUClock(), Frequency: 99, ExcludeKernel: true}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
