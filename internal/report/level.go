package report

import (
	"fmt"
	"path"
	"strings"

	"github.com/ringtap/ringtap/internal/profile"
)

// kind tells what sort of code a level of a stack is.
type kind uint8

const (
	user    kind = iota
	inlined      // expanded at its caller, it has no frame of its own
	kernel
	unknown // code without a symbol
	label   // no code: a word of the collector
	process // the command name at the root
	cut     // stands for the missing root of a truncated stack
)

// truncatedName is shown where the root of a stack is missing.
const truncatedName = "[truncated]"

// level is one level of a stack as the forms show it. Name is escaped and free
// of semicolons. Levels that are equal are the same box of a flame graph.
type level struct {
	name   string
	object int // index into Profile.Objects, -1 if there is none
	kind   kind
}

// leveler turns the stacks of a profile into levels, each stack once.
type leveler struct {
	p       *profile.Profile
	inlines bool
	frames  [][]level // by frame; levels root to leaf
}

func newLeveler(p *profile.Profile, inlines bool) *leveler {
	return &leveler{p: p, inlines: inlines, frames: make([][]level, len(p.Frames))}
}

// row returns the levels of a row: the command, the user stack, the kernel
// stack.
func (l *leveler) row(dst []level, r *profile.Row) []level {
	dst = append(dst, level{commName(&l.p.Processes[r.Process]), -1, process})
	dst = l.stack(dst, r.User)
	return l.stack(dst, r.Kernel)
}

func (l *leveler) stack(dst []level, id int) []level {
	if id == profile.None {
		return dst
	}
	s := &l.p.Stacks[id]
	if s.Truncated {
		dst = append(dst, level{truncatedName, -1, cut})
	}
	for _, f := range s.Frames {
		dst = append(dst, l.frame(f)...)
	}
	return dst
}

// frame returns what a frame shows: one level, or with inlined functions
// wanted, the function that holds the code and then each one expanded in it.
func (l *leveler) frame(id int) []level {
	if l.frames[id] != nil {
		return l.frames[id]
	}
	f := &l.p.Frames[id]
	own := level{frameName(l.p, f), f.Object, user}
	switch {
	case l.p.Objects[f.Object].Kernel:
		own.kind = kernel
	case l.p.Objects[f.Object].Marks:
		own = level{own.name, -1, cut}
	case l.p.Objects[f.Object].Labels:
		own = level{own.name, -1, label}
	case f.Name == "", f.Unnamed:
		own.kind = unknown
	}
	levels := []level{own}
	if l.inlines {
		for i := len(f.Lines) - 2; i >= 0; i-- {
			levels = append(levels, level{lineName(&f.Lines[i]), f.Object, inlined})
		}
	}
	l.frames[id] = levels
	return levels
}

// frameName names the function of a frame, or the object where not even its
// beginning is known. The address is left out, so that such code folds to one
// box and not to one a sample; tables, JSON and pprof carry the address.
func frameName(p *profile.Profile, f *profile.Frame) string {
	if file, _ := f.Source(&p.Objects[f.Object]); file != "" {
		return escapeFrame(fmt.Sprintf("%s (%s)", f.Name, shortPath(file)))
	}
	if f.Name != "" {
		return escapeFrame(f.Name)
	}
	return "[unknown] (" + objectName(&p.Objects[f.Object]) + ")"
}

// shortPath is the last two parts of a path: many files are called __init__.py.
func shortPath(file string) string {
	parts := strings.Split(file, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}

// place is frameName with the place in the function, as tables show it.
func place(p *profile.Profile, f *profile.Frame) string {
	file, line := f.Source(&p.Objects[f.Object])
	switch {
	case p.Objects[f.Object].Labels:
		return escapeFrame(f.Name)
	case file != "":
		return escapeFrame(fmt.Sprintf("%s (%s:%d)", f.Name, file, line))
	case f.Name != "":
		return fmt.Sprintf("%s+%#x", escapeFrame(f.Name), f.Offset)
	}
	return fmt.Sprintf("[unknown] (%s+%#x)", objectName(&p.Objects[f.Object]), f.PC())
}

func lineName(l *profile.Line) string {
	if l.Function == "" {
		return "[unknown]"
	}
	return escapeFrame(l.Function)
}

func commName(p *profile.Process) string {
	if p.Comm == "" {
		return fmt.Sprintf("[pid %d]", p.PID)
	}
	return escapeFrame(p.Comm)
}

// objectName is the last part of an object's path, for people.
func objectName(o *profile.Object) string {
	if o.Path == "" {
		return "?"
	}
	return escapeFrame(path.Base(o.Path))
}
