package stacks

import (
	"context"
	"os/exec"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/testkit/truth"
	"github.com/ringtap/ringtap/perfevent"
)

// sample profiles a command until it ends, and returns its folded stacks, and how many
// samples were cut short.
func sample(t *testing.T, command *exec.Cmd, opts Options) (folded, truncated map[string]int) {
	t.Helper()
	started, err := perfevent.StartCommand(command)
	if err != nil {
		t.Fatal(err)
	}
	s := New(opts)
	defer s.Close()
	sampling := perfevent.Sampling{Event: perfevent.CPUClock(), Frequency: 499, ExcludeKernel: true}
	s.Prepare(&sampling)
	session, err := perfevent.Open(perfevent.Started(started), []perfevent.Sampling{sampling}, perfevent.Options{})
	if err != nil {
		started.Kill()
		t.Fatal(err)
	}
	defer session.Close()
	if err := s.Snapshot(session.Processes()...); err != nil {
		t.Fatal(err)
	}
	if err := session.Enable(); err != nil {
		t.Fatal(err)
	}
	counts := make(map[Stack]int)
	if err := session.Read(context.Background(), func(record perfevent.Record) error {
		s.Handle(record)
		if sample, ok := record.(*perfevent.Sample); ok {
			counts[s.Sample(sample)]++
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if state, err := started.Wait(); err != nil || !state.Success() {
		t.Fatalf("the program: %v, %v", state, err)
	}
	folded, truncated = make(map[string]int), make(map[string]int)
	for stack, n := range counts { // the process is gone by now
		line := s.Folded(stack)
		folded[line] += n
		if s.Truncated(stack) {
			truncated[line] += n
		}
	}
	return folded, truncated
}

// busy adds up the samples of a program that does its work. It takes an emulated machine long
// to start and to end one.
func busy(built truth.Built, folded map[string]int, match func(names []string) bool) (sum int) {
	for line, n := range folded {
		_, stack, _ := strings.Cut(line, ";")
		if names := strings.Split(stack, ";"); built.Busy(names) && match(names) {
			sum += n
		}
	}
	return sum
}

func every([]string) bool { return true }

// Programs know their own call chain. Their processes have ended when stacks are named.
func TestLiveStacksAreWhatProgramsSayOfThemselves(t *testing.T) {
	for name, opts := range map[string]Options{
		"c-O2-nofp-nopie": {},
		"c-O2-fp":         {FramePointers: true},
		"go":              {NoKernel: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			built := truth.Named(name).Build(t)
			folded, truncated := sample(t, built.Command(0.3), opts)
			all := busy(built, folded, every)
			matching := busy(built, folded, func(names []string) bool { return built.Match(names) == nil })
			if all == 0 || 10*matching < 9*all {
				t.Errorf("%d of %d samples show the program's chain", matching, all)
			}
			if cut := busy(built, truncated, every); 10*cut > all {
				t.Errorf("%d of %d stacks are truncated", cut, all)
			}
		})
	}
}

// At this frequency 32 KiB of a stack are copied (see package stack), which the program
// has more of.
func TestLiveStacksThatWereNotCopiedWholeAreTruncated(t *testing.T) {
	built := truth.Named("deep-nofp-45KiB").Build(t)
	folded, truncated := sample(t, built.Command(0.2), Options{})
	all, cut := busy(built, folded, every), busy(built, truncated, every)
	if all == 0 || 10*cut < 9*all {
		t.Errorf("%d of %d stacks are truncated", cut, all)
	}
}

func TestNamesOfWhatIsNotThereAreAddresses(t *testing.T) {
	s := New(Options{})
	defer s.Close()
	frames := s.Name([]callchain.Frame{{Object: 4711, Offset: 0x10}})
	if len(frames) != 1 || frames[0].String() != "[unknown]+0x10" {
		t.Errorf("%+v", frames)
	}
	if f, ok := s.Process(1 << 21).Name(0x1000); ok {
		t.Errorf("a process that is not there has %+v", f)
	}
	if got := (Frame{Object: "/lib/a\n.so", Address: 0x20}).String(); got != `a\n.so+0x20` {
		t.Errorf("%q", got)
	}
}
