package live

import (
	"fmt"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
)

// stacks gives numbers to the stacks of hits. The program handles a stack as its number. The
// frames are named when the stack is shown. The number of a stack is its id in shown.
type stacks struct {
	processes  *process.Table
	store      *stack.Store
	symbolizer *symbolize.Symbolizer
	shown      *callchain.Interner // the frames of each number, whether they are cut short or not
	numbers    []uint64            // 1 + the number of each stack of the store, by its id; 0 if it has none yet
	dropped    uint64              // stacks for which there was no room
	users, cut uint64              // user stacks that clauses asked for, and how many of them are cut short
	calls      atsample.CertaintyCounts
}

// maxStackBytes bounds the memory of distinct stacks.
const maxStackBytes = 64 << 20

func newStacks(processes *process.Table, symbolizer *symbolize.Symbolizer) *stacks {
	s := &stacks{processes: processes, symbolizer: symbolizer, shown: callchain.NewInterner()}
	s.store = stack.NewStore(processes, s.full)
	s.shown.Intern(nil, false) // 0 is a stack without frames
	processes.Hold(s.hold)
	return s
}

// full reports whether there is no room for another stack.
func (s *stacks) full() bool { return s.store.Bytes()+s.shown.Bytes()+8*cap(s.numbers) > maxStackBytes }

// hold calls its argument with the objects of all stacks, so that frames can be named after their
// processes have ended.
func (s *stacks) hold(hold func(callchain.ObjectID)) {
	s.shown.Objects(hold)
	s.store.Objects(hold)
}

// kernel returns the number of a hit's kernel stack.
func (s *stacks) kernel(h *hit, t *types.Type) uint64 {
	id, kept := s.store.Kernel(h.source.stacker, h.sample)
	if !kept {
		s.dropped++
	}
	return s.limited(id, t)
}

// user returns the number of a hit's user stack. A stack that was cut short is replaced by the
// only whole stack of its program that begins with the same frames, as in the collectors.
func (s *stacks) user(h *hit, t *types.Type) uint64 {
	p := h.process()
	user := h.userStack()
	if user.Interpreted {
		s.calls.Count(user.Calls)
	}
	switch {
	case !user.Found:
		return 0
	case !user.Kept:
		s.dropped++
		return 0
	}
	s.users++
	h.source.copies.Stacks++
	switch user.End {
	case callchain.Complete:
		s.store.Whole(p.Comm, user.ID)
	case callchain.Cut:
		h.source.copies.Cut++
		if whole, ok := s.store.Completed(p.Comm, user.ID); ok {
			h.source.copies.Joined++
			user.ID = whole
		} else if t.Limit == 0 || len(s.store.Stack(user.ID).Frames) < t.Limit {
			s.cut++
		}
	}
	return s.limited(user.ID, t)
}

// userStack returns the user stack of the hit.
func (h *hit) userStack() stack.User {
	if h.feed.unwound != nil {
		return *h.feed.unwound
	}
	return h.feed.stacks.store.User(h.source.stacker, h.process(), h.sample)
}

// limited returns the number of the t.Limit innermost frames of a stack, or of all if Limit is 0.
func (s *stacks) limited(id callchain.StackID, t *types.Type) uint64 {
	if id == stack.None {
		return 0
	}
	if int(id) < len(s.numbers) && s.numbers[id] > 0 && t.Limit == 0 {
		return s.numbers[id] - 1
	}
	frames := s.store.Stack(id).Frames
	if t.Limit > 0 && len(frames) > t.Limit {
		return s.number(frames[:t.Limit])
	}
	n := s.number(frames)
	if n > 0 {
		for int(id) >= len(s.numbers) {
			s.numbers = append(s.numbers, 0)
		}
		s.numbers[id] = 1 + n
	}
	return n
}

// number returns the number of a stack, or 0 if there is no room for it.
func (s *stacks) number(frames []callchain.Frame) uint64 {
	if n, ok := s.shown.Find(frames, false); ok {
		return uint64(n)
	}
	if s.full() {
		s.dropped++
		return 0
	}
	return uint64(s.shown.Intern(frames, false))
}

// stack returns the stack with a number. The stack has no frames if the number is unknown.
func (s *stacks) stack(n uint64) stack.Stack {
	if n >= uint64(s.shown.Len()) {
		return stack.Stack{}
	}
	frames, _ := s.shown.Stack(callchain.StackID(n))
	return stack.Stack{Frames: frames}
}

// frames returns how many frames the stack of a number has.
func (s *stacks) frames(n uint64) int { return len(s.stack(n).Frames) }

// lines returns the frames of a stack as lines, innermost first.
func (s *stacks) lines(n uint64, mode string) []string {
	if s.frames(n) == 0 {
		return nil
	}
	frames, objects := s.symbolizer.Stack(s.store.Set([]stack.Stack{s.stack(n)}))
	lines := make([]string, 0, len(frames))
	for i := range frames {
		object := &objects[frames[i].Object]
		if object.Runtime == "" {
			lines = appendInlined(lines, &frames[i], mode)
		}
		lines = append(lines, line(&frames[i], object, mode))
	}
	return lines
}

// appendInlined appends the calls that the compiler inlined at a frame as bpftrace shows them, innermost first.
func appendInlined(lines []string, f *profile.Frame, mode string) []string {
	if mode == "raw" || mode == "build_id" {
		return lines
	}
	for i := range len(f.Lines) - 1 {
		l := &f.Lines[i]
		if mode == "perf" {
			lines = append(lines, fmt.Sprintf("%x %s (inlined)", f.PC(), l.Function))
		} else {
			lines = append(lines, "[inlined] "+l.Function+sourceOf(l))
		}
	}
	return lines
}

// sourceOf returns the place of a source line, @FILE:LINE, or "" if it is unknown.
func sourceOf(l *profile.Line) string {
	if l.File == "" {
		return ""
	}
	return fmt.Sprintf("@%s:%d", l.File, l.Line)
}

// function returns the name of a stack's innermost function, or else its address. It returns "" for a stack without
// frames.
func (s *stacks) function(n uint64) string {
	if s.frames(n) == 0 {
		return ""
	}
	frames, _ := s.symbolizer.Stack(s.store.Set([]stack.Stack{s.stack(n)}))
	if f := &frames[0]; f.Name == "" {
		return f.String()
	}
	return frames[0].Name
}

// line returns a frame as bpftrace shows it. Unlike bpftrace, it also shows labels, and functions of runtimes with
// file and line in parentheses.
func line(f *profile.Frame, object *profile.Object, mode string) string {
	if object.Labels {
		return f.Name
	}
	name, path := f.Name, object.Path
	file, number := f.Source(object)
	switch {
	case file != "":
		path = fmt.Sprintf("%s:%d", file, number)
	case name == "":
		name = fmt.Sprintf("%#x", f.PC())
	default:
		name = fmt.Sprintf("%s+%d", name, f.Offset)
	}
	switch mode {
	case "raw":
		return fmt.Sprintf("%x", f.PC())
	case "build_id":
		return fmt.Sprintf("%s %#x", object.BuildID, f.PC())
	case "perf":
		if object.Kernel {
			return fmt.Sprintf("%x %s", f.PC(), name)
		}
		return fmt.Sprintf("%x %s (%s)", f.PC(), name, path)
	}
	switch {
	case file != "":
		return fmt.Sprintf("%s (%s)", name, path)
	case len(f.Lines) > 0:
		return name + sourceOf(&f.Lines[len(f.Lines)-1])
	}
	return name
}
