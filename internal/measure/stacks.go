package measure

import (
	"cmp"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/symbolize"
	"github.com/ringtap/ringtap/perfevent"
)

// stackKey is the stack that a row is of.
type stackKey struct {
	user, kernel callchain.StackID
}

// noStack is the stack of rows without one.
var noStack = stackKey{stack.None, stack.None}

func (k stackKey) compare(other stackKey) int {
	if c := cmp.Compare(k.user, other.user); c != 0 {
		return c
	}
	return cmp.Compare(k.kernel, other.kernel)
}

// maxStackBytes bounds the memory that distinct stacks take.
const maxStackBytes = 256 << 20

// stacks makes the stacks of samples and names them.
type stacks struct {
	processes  *process.Table
	store      *stack.Store
	stacker    *stack.Stacker
	symbolizer *symbolize.Symbolizer
}

// newStacks makes the stacks of processes.
func newStacks(o *Options, processes *process.Table) *stacks {
	s := &stacks{processes: processes, symbolizer: symbolize.New(symbolize.Options{Host: processes.Host(), Logger: o.Logger})}
	s.store = stack.NewStore(s.processes, func() bool { return s.store.Bytes() > maxStackBytes })
	s.stacker = s.store.Stacker(o.Stacks)
	s.processes.Hold(s.store.Objects)
	return s
}

func (s *stacks) close() {
	_ = s.symbolizer.Close() // the debug files were only read
}

// stack is the stack of a sample, interned; noStack where none is wanted.
func (m *meter) stack(sample *perfevent.Sample) stackKey {
	key := noStack
	s := m.stacks
	if s == nil {
		return key
	}
	kept := true
	if s.stacker.Stacks.Kernel {
		key.kernel, kept = s.store.Kernel(s.stacker, sample)
	}
	if s.stacker.Stacks.User {
		if user := s.store.User(s.stacker, s.processes.Process(int(int32(sample.PID))), sample); user.Found {
			key.user, kept = user.ID, kept && user.Kept
		}
	}
	if !kept {
		m.account.Unkept++
		return noStack
	}
	return key
}

// names are the frames of a stack, leaf first: those of the kernel and then the
// user's. Cut says that callers are missing.
func (s *stacks) names(key stackKey) (names []string, cut bool) {
	for _, id := range []callchain.StackID{key.kernel, key.user} {
		if id == stack.None {
			continue
		}
		of := s.store.Stack(id)
		cut = cut || of.Truncated
		frames, _ := s.symbolizer.Stack(of, s.processes.Objects())
		for i := range frames {
			names = append(names, frames[i].String())
		}
	}
	return names, cut
}
