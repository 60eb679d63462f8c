package trace

import (
	"fmt"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/perfevent"
)

// stacks formats the stacks of samples. Each distinct stack is symbolized once.
type stacks struct {
	processes  *process.Table
	store      *stack.Store
	stacker    *stack.Stacker
	symbolizer *symbolize.Symbolizer
	texts      map[callchain.StackID][]byte
	size       int // bytes of texts
	cut        uint64
	calls      atsample.CertaintyCounts
	unknown    []error // why functions of runtimes have no names
}

// maxTexts bounds the memory of distinct stacks, in bytes.
const maxTexts = 64 << 20

// newStacks returns a stacks. The caller closes processes and symbolizer.
func newStacks(kinds stack.Stacks, processes *process.Table, symbolizer *symbolize.Symbolizer) *stacks {
	store := stack.NewStore(processes, nil)
	return &stacks{
		processes: processes, store: store, stacker: store.Stacker(kinds), symbolizer: symbolizer,
		texts: make(map[callchain.StackID][]byte),
	}
}

// append appends the stacks of a sample: a heading, and a line per frame, leaf first, in the form
// of the kernel's stack traces. head is the start of the heading line.
func (s *stacks) append(dst, head []byte, sample *perfevent.Sample) []byte {
	if s.store.Bytes()+s.size > maxTexts {
		s.store.Sweep()
		clear(s.texts)
		s.size = 0
	}
	if s.stacker.Stacks.Kernel {
		if id, _ := s.store.Kernel(s.stacker, sample); id != stack.None {
			dst = append(append(dst, head...), "<stack trace>\n"...)
			dst = append(dst, s.text(id)...)
		}
	}
	if s.stacker.Stacks.User {
		user := s.store.User(s.stacker, s.processes.Process(int(int32(sample.PID))), sample)
		if user.End == callchain.Cut {
			s.cut++
		}
		if user.Interpreted {
			s.calls.Count(user.Calls)
		}
		if user.Found {
			dst = append(append(dst, head...), "<user stack trace>\n"...)
			dst = append(dst, s.text(user.ID)...)
		}
	}
	return dst
}

// text returns the lines of a stack.
func (s *stacks) text(id callchain.StackID) []byte {
	text, ok := s.texts[id]
	if ok {
		return text
	}
	of := s.store.Stack(id)
	set := s.store.Set([]stack.Stack{of})
	s.note(set.Unknown)
	frames, objects := s.symbolizer.Stack(set)
	for i := range frames {
		text = appendFrame(text, &frames[i], objects)
	}
	if of.Truncated {
		text = append(text, " => [truncated]\n"...)
	}
	s.texts[id] = text
	s.size += len(text)
	return text
}

// maxUnknown bounds the errors in unknown.
const maxUnknown = 16

// note adds errors about runtimes whose functions have no names.
func (s *stacks) note(unknown []error) {
	s.unknown = append(s.unknown, unknown[:min(len(unknown), maxUnknown-len(s.unknown))]...)
}

// errors returns why functions of runtimes have no names.
func (s *stacks) errors() []error {
	s.note(s.store.Set(nil).Unknown)
	return s.unknown
}

// appendFrame appends a frame's line: the function, the offset in it, and the file. A runtime's
// function has its source file and line instead. A label is shown as it is.
func appendFrame(dst []byte, f *profile.Frame, objects []profile.Object) []byte {
	object := &objects[f.Object]
	if object.Labels {
		return fmt.Appendf(dst, " => %s\n", escape.Text(f.Name))
	}
	if file, line := f.Source(object); file != "" {
		return fmt.Appendf(dst, " => %s (%s:%d)\n", escape.Text(f.Name), escape.Text(file), line)
	}
	dst = fmt.Appendf(dst, " => %s", escape.Text(f.String()))
	if !object.Kernel || object.Path != "[kernel]" {
		dst = fmt.Appendf(dst, " (%s)", escape.Text(object.Path))
	}
	return append(dst, '\n')
}
