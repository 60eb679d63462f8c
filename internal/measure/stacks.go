package measure

import (
	"cmp"
	"fmt"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/symbolize"
	"github.com/ringtap/ringtap/perfevent"
)

// stackKey is the stack that a row is of.
type stackKey struct {
	user, kernel callchain.StackID
}

// noStack is the stack of rows without one.
var noStack = stackKey{collect.NoStack, collect.NoStack}

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
	stacker    *collect.Stacker
	interner   *callchain.Interner
	processes  *process.Table
	symbolizer *symbolize.Symbolizer
}

// newStacks makes the stacks of a session on those processes.
func newStacks(o *Options, pids []int) (*stacks, error) {
	s := &stacks{
		stacker: collect.NewStacker(o.Stacks), interner: callchain.NewInterner(),
		processes:  process.NewTable(process.Options{Unwind: o.Stacks.User, Logger: o.Logger}),
		symbolizer: symbolize.New(symbolize.Options{Logger: o.Logger}),
	}
	s.processes.Hold(s.interner.Objects)
	if err := s.processes.Snapshot(pids...); err != nil {
		s.close()
		return nil, fmt.Errorf("read the running processes: %w", err)
	}
	return s, nil
}

func (s *stacks) close() {
	_ = s.symbolizer.Close() // the debug files were only read
	s.processes.Close()
}

// stack is the stack of a sample, interned; noStack where none is wanted.
func (m *meter) stack(sample *perfevent.Sample) stackKey {
	key := noStack
	s := m.stacks
	if s == nil {
		return key
	}
	if s.interner.Bytes() > maxStackBytes {
		m.account.Unkept++
		return key
	}
	if s.stacker.Stacks.Kernel {
		if frames := s.stacker.Kernel(sample); len(frames) > 0 {
			key.kernel = s.interner.Intern(frames, false)
		}
	}
	if s.stacker.Stacks.User {
		frames, end := s.stacker.User(s.processes.Process(int(int32(sample.PID))), sample)
		if len(frames) > 0 {
			key.user = s.interner.Intern(frames, end == callchain.Cut)
		}
	}
	return key
}

// names are the frames of a stack, leaf first: those of the kernel and then the
// user's. Cut says that callers are missing.
func (s *stacks) names(key stackKey) (frames []string, cut bool) {
	for _, id := range []callchain.StackID{key.kernel, key.user} {
		if id == collect.NoStack {
			continue
		}
		chain, truncated := s.interner.Stack(id)
		cut = cut || truncated
		stack := []collect.Stack{{Frames: chain, Truncated: truncated}}
		p := s.symbolizer.Profile(&collect.Window{Stacks: stack, Images: collect.Images(stack, s.processes.Objects())}, nil)
		indexes := p.Stacks[0].Frames
		for i := len(indexes) - 1; i >= 0; i-- {
			frames = append(frames, name(&p.Frames[indexes[i]]))
		}
	}
	return frames, cut
}

// name is a frame as lines have it: the function and the distance from its
// start.
func name(f *profile.Frame) string {
	if f.Name == "" {
		return fmt.Sprintf("%#x", f.Address)
	}
	return fmt.Sprintf("%s+%#x", f.Name, f.Offset)
}
