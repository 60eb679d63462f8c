package snapshot

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
)

// Frame is one function of a user stack.
type Frame struct {
	Name    string // demangled; "" if unknown
	Offset  uint64 // bytes from the function's first byte, or in the object where the name is unknown
	Inlined bool   // into the next frame: it has no offset of its own
	Object  string // path of the file
	File    string // of the source, "" if not known
	Line    int
}

// String is the frame as a line shows it.
func (f *Frame) String() string {
	text := f.Name
	switch {
	case f.Inlined:
		text += " (inlined)"
	case text == "":
		text = fmt.Sprintf("[unknown]+%#x (%s)", f.Offset, filepath.Base(f.Object))
	default:
		text += fmt.Sprintf("+%#x (%s)", f.Offset, filepath.Base(f.Object))
	}
	if f.Line > 0 {
		text += fmt.Sprintf(" %s:%d", f.File, f.Line)
	}
	return text
}

// name gives all frames their names.
func (l *look) name() {
	stacks := make([]stack.Stack, l.interned.Len())
	for i := range stacks {
		stacks[i].Frames, stacks[i].Truncated = l.interned.Stack(callchain.StackID(i))
	}
	set := stack.NewSet(stacks, l.processes.Objects())
	p := l.symbolizer.Profile(&set, nil)
	l.snapshot.Notes = append(l.snapshot.Notes, p.Notes...)
	named := make([][]Frame, len(p.Stacks))
	frames := func(i int) []Frame {
		if named[i] == nil {
			named[i] = userFrames(p, i)
		}
		return named[i]
	}
	for _, t := range l.snapshot.Threads {
		if i, ok := l.stacks[t]; ok {
			t.User = frames(i)
		}
		if i, ok := l.kernels[t]; ok {
			for _, f := range frames(i) {
				t.Kernel = append(t.Kernel, fmt.Sprintf("%s+%#x", f.Name, f.Offset))
			}
		}
	}
	for _, g := range l.snapshot.Goroutines {
		if g.stack >= 0 {
			g.User = frames(g.stack)
		}
		if g.creator >= 0 {
			g.Creator = frames(g.creator)[len(frames(g.creator))-1].Name
		}
	}
}

// userFrames are the frames of a stack, leaf first. An inlined function is a frame
// of its own.
func userFrames(p *profile.Profile, stack int) []Frame {
	var frames []Frame
	for _, i := range slices.Backward(p.Stacks[stack].Frames) {
		f := &p.Frames[i]
		frame := Frame{Name: f.Name, Offset: f.Offset, Object: p.Objects[f.Object].Path}
		if f.Name == "" {
			frame.Offset = f.PC()
		}
		if n := len(f.Lines); n > 0 {
			for _, line := range f.Lines[:n-1] {
				frames = append(frames, Frame{Name: line.Function, Inlined: true, Object: frame.Object, File: line.File, Line: line.Line})
			}
			frame.File, frame.Line = f.Lines[n-1].File, f.Lines[n-1].Line
		}
		frames = append(frames, frame)
	}
	return frames
}
