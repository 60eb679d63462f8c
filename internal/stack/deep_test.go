package stack_test

import (
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/engine/capture"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// shortened makes the stacks of samples of which little was copied, and notes when they are to be read beyond.
type shortened struct {
	store    *stack.Store
	stacker  *stack.Stacker
	process  func(pid int) *process.Process
	times    []uint64
	deepened int // samples before the first call of ReadDeepStacks; -1: no call
}

func (s *shortened) Record(record perfevent.Record) error {
	if sample, ok := record.(*perfevent.Sample); ok {
		sample.Stack = sample.Stack[:8]
		s.times = append(s.times, sample.Time)
		s.store.User(s.stacker, s.process(int(sample.PID)), sample)
	}
	return nil
}

func (s *shortened) ReadDeepStacks(*process.Process, *atsample.Calls) {
	if s.deepened < 0 {
		s.deepened = len(s.times) - 1
	}
}

func (s *shortened) Watch(*process.Process, []*interp.Namer)                                {}
func (s *shortened) FollowSwitches(*process.Process, []callchain.Crossing, *atsample.Calls) {}
func (s *shortened) MarkEnd(*process.Process, uint64)                                       {}
func (s *shortened) MarkDead(_ *process.Process, from, to uint64)                           {}
func (s *shortened) At(*perfevent.Sample) (none atsample.Calls)                             { return none }

func TestStacksAreReadBeyondTheCopiesWhenTheseHadTimeToGrow(t *testing.T) {
	deepen := func(settle uint64) *shortened {
		source := capture.Open(t, "lines")
		engine, err := engine.Start(t.Context(), source, engine.Options{Unwind: true})
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Close()
		s := &shortened{store: stack.NewStore(engine.Processes(), nil), process: engine.Processes().Process, deepened: -1}
		s.store.ReadAtSamples(s)
		s.stacker = s.store.Stacker(stack.Stacks{User: true, Unwind: stack.Auto, Interpreted: true, Beyond: true, Settle: settle})
		if err := engine.Run(s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	atOnce := deepen(0)
	if atOnce.deepened != 0 {
		t.Fatalf("stacks are read beyond their copies after sample %d, want the first", atOnce.deepened)
	}
	const n = 20
	if later := deepen(atOnce.times[n] - atOnce.times[0]); later.deepened != n {
		t.Errorf("stacks are read beyond their copies after sample %d, want %d", later.deepened, n)
	}
	if s := deepen(1 << 60); s.deepened >= 0 {
		t.Errorf("stacks are read beyond their copies after sample %d", s.deepened)
	}
}
