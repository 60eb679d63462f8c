package stack_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/engine/capture"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// making is a sink that makes the stacks of samples.
type making struct {
	processes *process.Table
	store     *stack.Store
	stacker   *stack.Stacker
	ids       map[callchain.StackID]int // samples of each user stack
	kernels   int
	ends      map[callchain.End]int
	unkept    int
}

func (m *making) Record(record perfevent.Record) error {
	sample, ok := record.(*perfevent.Sample)
	if !ok {
		return nil
	}
	if id, kept := m.store.Kernel(m.stacker, sample); kept && id != stack.None {
		m.kernels++
	}
	user := m.store.User(m.stacker, m.processes.Process(int(sample.PID)), sample)
	switch {
	case user.Found && user.Kept:
		m.ids[user.ID]++
		m.ends[user.End]++
	case user.Found:
		m.unkept++
	}
	return nil
}

// made makes the stacks of a capture.
func made(t *testing.T, name string, stacks stack.Stacks, full func() bool) *making {
	t.Helper()
	source := capture.Open(t, name)
	engine, err := engine.Start(t.Context(), source, engine.Options{Unwind: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(engine.Close)
	m := &making{processes: engine.Processes(), store: stack.NewStore(engine.Processes(), full), ids: make(map[callchain.StackID]int), ends: make(map[callchain.End]int)}
	m.stacker = m.store.Stacker(stacks)
	engine.Processes().Hold(m.store.Objects)
	if err := engine.Run(m); err != nil {
		t.Fatal(err)
	}
	return m
}

// All 40 calls of work are from one place: _start, begin, calls.
func TestStacksOfOnePlaceAreOneStack(t *testing.T) {
	for _, unwind := range []stack.Unwind{stack.Auto, stack.DWARF} {
		m := made(t, "lines", stack.Stacks{User: true, Unwind: unwind, Entry: true}, nil)
		if len(m.ids) != 1 || m.ends[callchain.Complete] != 40 || m.store.Len() != 1 {
			t.Fatalf("%s: stacks %v of %d, ends %v; want 40 of one", unwind, m.ids, m.store.Len(), m.ends)
		}
		for id := range m.ids {
			set := m.store.Set([]stack.Stack{m.store.Stack(id)})
			if frames := set.Stacks[0].Frames; len(frames) != 4 || len(set.Images) != 1 {
				t.Fatalf("%s: frames %v in %d objects; want four in one", unwind, frames, len(set.Images))
			}
			image := set.Images[set.Stacks[0].Frames[0].Object]
			magic := make([]byte, 4)
			if _, err := image.Code.ReadAt(magic, 0); err != nil || string(magic) != "\x7fELF" || image.Path != capture.Program {
				t.Errorf("%s: %s reads %q, %v", unwind, image.Path, magic, err)
			}
		}
	}
}

// A copy of 512 bytes holds all of the program's stack; the kernel's walk of the same
// samples has no frame pointers to follow.
func TestSamplesOfTheClockHaveStacksOfBothModes(t *testing.T) {
	m := made(t, "on-cpu", stack.Stacks{User: true, Kernel: true, Unwind: stack.Auto}, nil)
	if m.ends[callchain.Cut]+m.ends[callchain.Lost] > 0 || m.ends[callchain.Complete] == 0 || m.kernels > m.ends[callchain.Complete] {
		t.Errorf("ends %v, %d kernel stacks", m.ends, m.kernels)
	}
}

func TestAFullStoreKeepsNoNewStack(t *testing.T) {
	m := made(t, "lines", stack.Stacks{User: true, Unwind: stack.Auto, Entry: true}, func() bool { return true })
	if m.unkept != 40 || m.store.Len() != 0 || m.store.Bytes() > 1<<10 {
		t.Errorf("%d samples have no room for their stack, %d stacks of %d bytes; want 40 and none", m.unkept, m.store.Len(), m.store.Bytes())
	}
}

func TestLabelsAreFramesAndWhatIsKeptOutlivesASweep(t *testing.T) {
	m := made(t, "lines", stack.Stacks{User: true, Unwind: stack.Auto, Entry: true}, nil)
	var id callchain.StackID
	for one := range m.ids {
		id = one
	}
	labeled, ok := m.store.With(id, "[socket]")
	if !ok {
		t.Fatal("there is no room")
	}
	both, ok := m.store.Join(labeled, "--", []callchain.StackID{id, stack.None}, "waker")
	if !ok {
		t.Fatal("there is no room")
	}
	words := func(id callchain.StackID) (all []string) {
		set := m.store.Set([]stack.Stack{m.store.Stack(id)})
		for _, f := range set.Stacks[0].Frames {
			word := "code"
			if f.Object == stack.Labels {
				word = set.Labels[f.Offset]
			}
			all = append(all, word)
		}
		return all
	}
	if diff := cmp.Diff([]string{"[socket]", "code", "code", "code", "code"}, words(labeled)); diff != "" {
		t.Errorf("a stack with a label (-want +got):\n%s", diff)
	}
	want := []string{"waker", "code", "code", "code", "code", "--", "[socket]", "code", "code", "code", "code"}
	if diff := cmp.Diff(want, words(both)); diff != "" {
		t.Errorf("two stacks (-want +got):\n%s", diff)
	}
	m.store.Keep(both)
	m.store.Keep(stack.None)
	m.store.Sweep()
	if m.store.Len() != 1 || len(words(both)) != len(want) {
		t.Errorf("%d stacks are left; want the one that is kept", m.store.Len())
	}
}
