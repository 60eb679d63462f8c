package output

import (
	"fmt"
	"path"
	"strings"

	"github.com/ringtap/ringtap/internal/profile"
)

// kind is the kind of code of a level.
type kind uint8

const (
	user    kind = iota
	inlined      // expanded in its caller, without a frame of its own
	kernel
	unknown // code without a symbol
	label   // not code: a word of the collector
	process // the command name at the root
	cut     // in place of the missing root of a truncated stack
)

// truncatedName is shown in place of a stack's missing root.
const truncatedName = "[truncated]"

// level is one level of a stack as the forms show it. name is escaped and contains no semicolons.
// Equal levels share a box in a flame graph.
type level struct {
	name   string
	object int // index into Profile.Objects, -1 if there is none
	kind   kind
}

// leveler turns the stacks of a profile into levels. Each distinct level has an index, by which
// half a million stacks are compared faster than by names.
type leveler struct {
	p         *profile.Profile
	inlines   bool
	all       []level         // distinct
	index     map[level]int32 // into all
	frames    [][]int32       // by frame, root first
	processes []int32         // by process; -1: not seen yet
	path      []int32         // of row
}

func newLeveler(p *profile.Profile, inlines bool) *leveler {
	l := &leveler{p: p, inlines: inlines, index: make(map[level]int32), frames: make([][]int32, len(p.Frames)), processes: make([]int32, len(p.Processes))}
	for i := range l.processes {
		l.processes[i] = -1
	}
	return l
}

// row appends the levels of a row: the command, the user stack, the kernel stack.
func (l *leveler) row(dst []level, r *profile.Row) []level {
	l.path = l.indexes(l.path[:0], r)
	for _, i := range l.path {
		dst = append(dst, l.all[i])
	}
	return dst
}

// indexes is row, but appends indexes of levels.
func (l *leveler) indexes(dst []int32, r *profile.Row) []int32 {
	own := &l.processes[r.Process]
	if *own < 0 {
		*own = l.enter(level{commName(&l.p.Processes[r.Process]), -1, process})
	}
	dst = append(dst, *own)
	dst = l.stack(dst, r.User)
	return l.stack(dst, r.Kernel)
}

func (l *leveler) stack(dst []int32, id int) []int32 {
	if id == profile.None {
		return dst
	}
	s := &l.p.Stacks[id]
	if s.Truncated {
		dst = append(dst, l.enter(level{truncatedName, -1, cut}))
	}
	for _, f := range s.Frames {
		if l.frames[f] == nil {
			for _, v := range l.frame(f) {
				l.frames[f] = append(l.frames[f], l.enter(v))
			}
		}
		dst = append(dst, l.frames[f]...)
	}
	return dst
}

// enter returns the index of a level.
func (l *leveler) enter(v level) int32 {
	i, ok := l.index[v]
	if !ok {
		i = int32(len(l.all))
		l.index[v], l.all = i, append(l.all, v)
	}
	return i
}

// frame returns the levels of a frame. It is one level, or if inlined functions are wanted, the
// containing function and then each function inlined in it.
func (l *leveler) frame(id int) []level {
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
	return levels
}

// frameName returns the function of a frame, or the object if the function is unknown. It omits the
// address, so that such code is one box instead of one per sample. Tables, JSON and pprof contain
// the address.
func frameName(p *profile.Profile, f *profile.Frame) string {
	if file, _ := f.Source(&p.Objects[f.Object]); file != "" {
		return escapeFrame(fmt.Sprintf("%s (%s)", f.Name, shortPath(file)))
	}
	if f.Name != "" {
		return escapeFrame(f.Name)
	}
	return unknownIn + objectName(&p.Objects[f.Object]) + ")"
}

// unknownIn begins the name of a frame without a name. The object's name follows.
const unknownIn = "[unknown] ("

// shortPath returns the last two parts of a path, because many files are called __init__.py.
func shortPath(file string) string {
	parts := strings.Split(file, "/")
	return strings.Join(parts[max(0, len(parts)-2):], "/")
}

// place returns frameName and the position in the function, for tables.
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
	return fmt.Sprintf(unknownIn+"%s+%#x)", objectName(&p.Objects[f.Object]), f.PC())
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

// objectName returns the last part of an object's path.
func objectName(o *profile.Object) string {
	if o.Path == "" {
		return "?"
	}
	return escapeFrame(path.Base(o.Path))
}
