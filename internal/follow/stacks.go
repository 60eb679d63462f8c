package follow

import (
	"fmt"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/symbolize"
	"github.com/ringtap/ringtap/internal/visible"
	"github.com/ringtap/ringtap/perfevent"
)

// stacks writes the stacks of samples. Each distinct one is symbolized once.
type stacks struct {
	processes  *process.Table
	stacker    *collect.Stacker
	symbolizer *symbolize.Symbolizer
	interner   *callchain.Interner
	texts      map[callchain.StackID][]byte
	size       int // bytes of texts
	cut        uint64
}

// maxTexts bounds the memory that distinct stacks take, in bytes.
const maxTexts = 64 << 20

// newStacks makes the stacks' writer, which owns neither the processes nor the
// symbolizer.
func newStacks(kinds collect.Stacks, processes *process.Table, symbolizer *symbolize.Symbolizer) *stacks {
	return &stacks{
		processes: processes, symbolizer: symbolizer,
		stacker:  collect.NewStacker(kinds),
		interner: callchain.NewInterner(),
		texts:    make(map[callchain.StackID][]byte),
	}
}

// append appends the stacks of a sample, a heading and a line for each frame,
// leaf first, in the form of the kernel's own stack traces. head is what stands
// before the heading: the line's beginning.
func (s *stacks) append(dst, head []byte, sample *perfevent.Sample) []byte {
	if s.stacker.Stacks.Kernel {
		if frames := s.stacker.Kernel(sample); len(frames) > 0 {
			dst = append(append(dst, head...), "<stack trace>\n"...)
			dst = append(dst, s.text(frames, false)...)
		}
	}
	if s.stacker.Stacks.User {
		frames, end := s.stacker.User(s.processes.Process(int(int32(sample.PID))), sample)
		cut := end == callchain.Cut
		if cut {
			s.cut++
		}
		if len(frames) > 0 {
			dst = append(append(dst, head...), "<user stack trace>\n"...)
			dst = append(dst, s.text(frames, cut)...)
		}
	}
	return dst
}

// text is the lines of a stack.
func (s *stacks) text(frames []callchain.Frame, cut bool) []byte {
	id, ok := s.interner.Find(frames, cut)
	if ok {
		return s.texts[id]
	}
	if s.interner.Bytes()+s.size > maxTexts {
		s.interner.Reset()
		clear(s.texts)
		s.size = 0
	}
	id = s.interner.Intern(frames, cut)
	stack, _ := s.interner.Stack(id)
	text := s.render([]collect.Stack{{Frames: stack, Truncated: cut}})
	s.texts[id] = text
	s.size += len(text)
	return text
}

// render symbolizes one stack.
func (s *stacks) render(stack []collect.Stack) []byte {
	p := s.symbolizer.Profile(&collect.Window{Stacks: stack, Images: collect.Images(stack, s.processes.Objects())}, nil)
	var text []byte
	frames := p.Stacks[0].Frames
	for i := len(frames) - 1; i >= 0; i-- {
		text = appendFrame(text, &p.Frames[frames[i]], p.Objects)
	}
	if p.Stacks[0].Truncated {
		text = append(text, " => [truncated]\n"...)
	}
	return text
}

// appendFrame appends a frame's line: the function and the distance from its
// start, and the file that it lies in.
func appendFrame(dst []byte, f *profile.Frame, objects []profile.Object) []byte {
	object := &objects[f.Object]
	name := fmt.Sprintf("%#x", f.Address)
	if f.Name != "" {
		name = fmt.Sprintf("%s+%#x", visible.Text(f.Name), f.Offset)
	}
	dst = fmt.Appendf(dst, " => %s", name)
	if !object.Kernel || object.Path != "[kernel]" {
		dst = fmt.Appendf(dst, " (%s)", visible.Text(object.Path))
	}
	return append(dst, '\n')
}
