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
	Offset  uint64 // in bytes from the function's start, or in the object if the name is unknown
	Inlined bool   // inlined into the next frame; it has no offset of its own
	Object  string // path of the file; "" for an interpreted function
	Runtime string // runtime that interprets the function: "CPython 3.12.1"; "" for native code
	File    string // of the source, "" if unknown
	Line    int
}

// String formats the frame as one line.
func (f *Frame) String() string {
	text := f.Name
	switch {
	case f.Runtime != "":
		text += " (" + f.Runtime + ")"
	case f.Inlined:
		text += " (inlined)"
	case f.Object == "": // a label
	case text == "":
		text = fmt.Sprintf("[unknown]+%#x (%s)", f.Offset, filepath.Base(f.Object))
	default:
		text += fmt.Sprintf("+%#x (%s)", f.Offset, filepath.Base(f.Object))
	}
	switch {
	case f.Line > 0:
		text += fmt.Sprintf(" %s:%d", f.File, f.Line)
	case f.Runtime != "" && f.File != "":
		text += " " + f.File
	}
	return text
}

// name resolves the names of all frames.
func (l *look) name() {
	stacks := make([]stack.Stack, l.interned.Len())
	for i := range stacks {
		stacks[i].Frames, stacks[i].Truncated = l.interned.Stack(callchain.StackID(i))
	}
	set := stack.NewSet(stacks, l.processes.Objects())
	set.Functions, set.Unknown = l.runtimes.Functions(), l.runtimes.Errors()
	p := l.symbolizer.Profile(&set, nil)
	l.snapshot.Notes = append(l.snapshot.Notes, p.Notes...)
	native := make([][][]Frame, len(p.Stacks))
	levels := func(i int) [][]Frame {
		if native[i] == nil {
			native[i] = userFrames(p, i)
		}
		return native[i]
	}
	named := make([][]Frame, len(p.Stacks))
	frames := func(i int) []Frame {
		if named[i] == nil {
			named[i] = slices.Concat(levels(i)...)
		}
		return named[i]
	}
	for _, t := range l.snapshot.Threads {
		if i, ok := l.stacks[t]; ok {
			t.User = frames(i)
		}
		if joined := l.levels[t]; joined != nil {
			t.User = nil
			for _, level := range joined {
				if level.native >= 0 {
					level.frames = levels(l.stacks[t])[level.native]
				}
				t.User = append(t.User, level.frames...)
			}
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

// userFrames returns the levels of a stack, innermost first. Each level is a frame, after the
// functions that were inlined into it.
func userFrames(p *profile.Profile, stack int) (levels [][]Frame) {
	for _, i := range slices.Backward(p.Stacks[stack].Frames) {
		var frames []Frame
		f := &p.Frames[i]
		frame := Frame{Name: f.Name, Offset: f.Offset, Object: p.Objects[f.Object].Path}
		if runtime := p.Objects[f.Object].Runtime; runtime != "" {
			frame.Runtime, frame.Object = runtime, ""
		} else if p.Objects[f.Object].Labels {
			frame.Object = ""
		}
		if f.Name == "" {
			frame.Offset = f.PC()
		}
		if n := len(f.Lines); n > 0 {
			for _, line := range f.Lines[:n-1] {
				frames = append(frames, Frame{Name: line.Function, Inlined: true, Object: frame.Object, File: line.File, Line: line.Line})
			}
			frame.File, frame.Line = f.Lines[n-1].File, f.Lines[n-1].Line
		}
		levels = append(levels, append(frames, frame))
	}
	return levels
}
