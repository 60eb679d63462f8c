package live

import (
	"encoding/binary"
	"fmt"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/moment"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/script/types"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/symbolize"
)

// stacks gives the stacks of hits numbers, which are values of the program, and names them
// when they are shown.
type stacks struct {
	processes  *process.Table
	store      *stack.Store
	symbolizer *symbolize.Symbolizer
	numbers    map[string]uint64 // by the frames
	all        []stack.Stack     // by their numbers
	room       []byte
	bytes      int
	dropped    uint64 // stacks that were too many to be kept
	users, cut uint64 // user stacks that were asked for, and those of them that are cut short
	calls      moment.Tally
}

// maxStackBytes bounds the memory of distinct stacks.
const maxStackBytes = 256 << 20

func newStacks(processes *process.Table, symbolizer *symbolize.Symbolizer) *stacks {
	s := &stacks{
		processes: processes, store: stack.NewStore(processes, nil), symbolizer: symbolizer, numbers: make(map[string]uint64),
	}
	s.number(stack.Stack{}) // 0 is a stack without frames
	processes.Hold(s.hold)
	return s
}

// hold tells the objects of all stacks, so that they can be named after their processes ended.
func (s *stacks) hold(hold func(callchain.ObjectID)) {
	for _, of := range s.all {
		for _, f := range of.Frames {
			hold(f.Object)
		}
	}
	s.store.Objects(hold)
}

// kernel returns the number of a hit's kernel stack.
func (s *stacks) kernel(h *hit, t *types.Type) uint64 {
	id, _ := s.store.Kernel(h.source.stacker, h.sample)
	return s.limited(id, t)
}

// user returns the number of a hit's user stack.
func (s *stacks) user(h *hit, t *types.Type) uint64 {
	of := s.store.User(h.source.stacker, h.process(), h.sample)
	if of.Interpreted {
		s.calls.Count(of.Calls)
	}
	if of.Kept {
		s.users++
		if of.End == callchain.Cut && (t.Limit == 0 || len(s.store.Stack(of.ID).Frames) < t.Limit) {
			s.cut++
		}
	}
	return s.limited(of.ID, t)
}

// limited returns the number of the innermost frames of a stack.
func (s *stacks) limited(id callchain.StackID, t *types.Type) uint64 {
	if id == stack.None {
		return 0
	}
	of := s.store.Stack(id)
	if t.Limit > 0 && len(of.Frames) > t.Limit {
		of.Frames, of.Truncated = of.Frames[:t.Limit], false
	}
	return s.number(of)
}

// number returns the number of a stack.
func (s *stacks) number(of stack.Stack) uint64 {
	key := s.room[:0]
	for _, f := range of.Frames {
		key = binary.NativeEndian.AppendUint64(key, uint64(f.Object))
		key = binary.NativeEndian.AppendUint64(key, f.Offset)
		if f.Return {
			key = append(key, 1)
		}
	}
	s.room = key
	if n, ok := s.numbers[string(key)]; ok {
		return n
	}
	if s.bytes > maxStackBytes {
		s.dropped++
		return 0
	}
	n := uint64(len(s.all))
	kept := stack.Stack{Frames: append([]callchain.Frame(nil), of.Frames...), Truncated: of.Truncated}
	s.numbers[string(key)] = n
	s.all = append(s.all, kept)
	s.bytes += 3*len(key) + 64
	return n
}

// frames returns the frames of a stack by its number.
func (s *stacks) frames(n uint64) int {
	if n >= uint64(len(s.all)) {
		return 0
	}
	return len(s.all[n].Frames)
}

// lines returns the frames of a stack as lines, innermost first.
func (s *stacks) lines(n uint64, mode string) []string {
	if n >= uint64(len(s.all)) {
		return nil
	}
	frames, objects := s.symbolizer.Stack(s.store.Set([]stack.Stack{s.all[n]}))
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

// sourceOf is where a line of source is, "" if that is not known.
func sourceOf(l *profile.Line) string {
	if l.File == "" {
		return ""
	}
	return fmt.Sprintf("@%s:%d", l.File, l.Line)
}

// function returns the name of a stack's innermost function, or its address; "" of a stack without frames.
func (s *stacks) function(n uint64) string {
	if s.frames(n) == 0 {
		return ""
	}
	frames, _ := s.symbolizer.Stack(s.store.Set([]stack.Stack{s.all[n]}))
	if f := &frames[0]; f.Name == "" {
		return f.String()
	}
	return frames[0].Name
}

// line is a frame as bpftrace shows it, which knows neither functions of runtimes, with a file and a line in
// parentheses, nor labels.
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
