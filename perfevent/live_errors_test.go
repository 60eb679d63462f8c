package perfevent

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/testlimit"
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

func TestLiveCyclesAreSampledOrTheErrorSaysThatThereAreNone(t *testing.T) {
	s, err := Open(Process(unix.Getpid()), []Sampling{{Event: CPUCycles(), Period: 1_000_000, ExcludeKernel: true}}, Options{})
	if err == nil {
		defer s.Close()
		sampleCycles(t, s)
		return
	}
	var open *OpenError
	if !errors.Is(err, ErrNoEvent) || !errors.As(err, &open) || open.Event != "cycles" || !strings.Contains(open.Hint, "cpu-clock") {
		t.Errorf("%v, want ErrNoEvent for cycles, with the way out", err)
	}
}

// sampleCycles keeps a CPU busy: there is a sample for each period that was
// counted, but for the last one of each thread.
func sampleCycles(t *testing.T, s *Session) {
	t.Helper()
	enable(t, s)
	ctx, cancel := context.WithTimeout(context.Background(), testlimit.Patience(time.Minute))
	defer cancel()
	go spin(ctx)
	samples := uint64(0)
	err := s.Read(ctx, func(rec Record) error {
		if _, ok := rec.(*Sample); ok {
			if samples++; samples >= 1000 {
				cancel()
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	accounts, err := s.Accounts()
	if err != nil {
		t.Fatal(err)
	}
	periods := accounts[0].Counted / 1_000_000
	least := periods * 3 / 4
	if testlimit.Emulated() {
		least = periods / 10 // its interrupts come late, and the next period begins with them
	}
	if a := accounts[0]; samples < 10 || samples+a.Lost > periods || samples+a.Lost < least {
		t.Errorf("%d samples of a period of 1,000,000, %+v", samples, a)
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
