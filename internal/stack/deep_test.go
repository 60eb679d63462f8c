package stack_test

import (
	"context"
	"testing"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/moment"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/run"
	"github.com/ringtap/ringtap/internal/run/capture"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// shortened makes the stacks of samples of which little was copied, and notes when they are to be read beyond.
type shortened struct {
	store    *stack.Store
	stacker  *stack.Stacker
	process  func(pid int) *process.Process
	times    []uint64
	deepened int // samples before the first call of Deepen, -1: none
}

func (s *shortened) Record(record perfevent.Record) error {
	if sample, ok := record.(*perfevent.Sample); ok {
		sample.Stack = sample.Stack[:8]
		s.times = append(s.times, sample.Time)
		s.store.User(s.stacker, s.process(int(sample.PID)), sample)
	}
	return nil
}

func (s *shortened) Deepen(*process.Process, *moment.Calls) {
	if s.deepened < 0 {
		s.deepened = len(s.times) - 1
	}
}

func (s *shortened) Watch(*process.Process, []*interp.Namer)                     {}
func (s *shortened) Cross(*process.Process, []callchain.Crossing, *moment.Calls) {}
func (s *shortened) Top(*process.Process, uint64)                                {}
func (s *shortened) Over(_ *process.Process, from, to uint64)                    {}
func (s *shortened) At(*perfevent.Sample) (none moment.Calls)                    { return none }

func TestStacksAreReadBeyondTheCopiesWhenTheseHadTimeToGrow(t *testing.T) {
	deepen := func(settle uint64) *shortened {
		source := capture.Open(t, "lines")
		engine, err := run.New(source, run.Options{Unwind: true})
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Close()
		s := &shortened{store: stack.NewStore(engine.Processes(), nil), process: engine.Processes().Process, deepened: -1}
		s.store.Moments(s)
		s.stacker = s.store.Stacker(stack.Stacks{User: true, Unwind: stack.Auto, Moments: true, Beyond: true, Settle: settle})
		if err := engine.Run(context.Background(), s); err != nil {
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
