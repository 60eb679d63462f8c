package collect

import (
	"io"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
)

// Window is the table of one stretch of time. It is plain data that nothing
// changes any more, so that another goroutine may symbolize and print it. What
// its Images read stays readable while the Window is referred to.
type Window struct {
	Start, End uint64   // CLOCK_MONOTONIC, nanoseconds
	Notes      []string // of its Span

	Rows      []profile.Row // User and Kernel are indexes into Stacks
	Stacks    []Stack
	Processes []profile.Process
	// Images holds what the stacks' frames lie in.
	Images map[callchain.ObjectID]*Image
	// Labels are the words that frames of the object Labels stand for.
	Labels []string

	Counts []Counts // of each collector
}

// Stack is a chain of frames, leaf first.
type Stack struct {
	Frames    []callchain.Frame
	Truncated bool
}

// Image is a process.Object as it was when the window was closed.
type Image struct {
	Kind process.Kind
	Path string
	PID  int
	// Code reads the ELF file; nil if there is none, and then Err says why.
	Code io.ReaderAt
	Size int64 // of Code, in bytes
	Err  error
	// PerfMap reads the names of generated code; nil if there are none.
	PerfMap io.Reader
}

// window makes a Window of a table.
func (r *Recorder) window(t *table, described map[int]profile.Process, counts []Counts, start, end uint64) *Window {
	w := &Window{Start: start, End: end, Counts: counts}
	stacks := make(map[callchain.StackID]int)
	stack := func(id callchain.StackID) int {
		if id == NoStack {
			return profile.None
		}
		i, ok := stacks[id]
		if !ok {
			i = len(w.Stacks)
			stacks[id] = i
			frames, truncated := r.interner.Stack(id)
			w.Stacks = append(w.Stacks, Stack{Frames: frames, Truncated: truncated})
		}
		return i
	}
	described[noProcess] = profile.Process{PID: -1, NSPID: -1, TGID: -1, Comm: "[no memory left]"}
	processes := make(map[int]int)
	for _, k := range t.keys() {
		if t.empty(k) {
			continue
		}
		p, ok := processes[k.process]
		if !ok {
			p = len(w.Processes)
			processes[k.process] = p
			w.Processes = append(w.Processes, described[k.process])
		}
		w.Rows = append(w.Rows, profile.Row{Process: p, User: stack(k.user), Kernel: stack(k.kernel), Values: t.row(k)})
	}
	w.Images = Images(w.Stacks, r.processes.Objects())
	w.Labels = r.labels[:len(r.labels):len(r.labels)]
	return w
}

// Images notes how the objects of the stacks can be read: a Window's Images.
func Images(stacks []Stack, objects map[callchain.ObjectID]*process.Object) map[callchain.ObjectID]*Image {
	images := make(map[callchain.ObjectID]*Image)
	for _, s := range stacks {
		for _, f := range s.Frames {
			if f.Object != Labels && images[f.Object] == nil {
				images[f.Object] = image(objects[f.Object])
			}
		}
	}
	return images
}

func image(o *process.Object) *Image {
	m := &Image{Kind: o.Kind, Path: o.Path, PID: o.PID}
	m.Code, m.Size, m.Err = o.Open()
	if o.Kind == process.Anon {
		m.PerfMap, m.Err = o.PerfMap()
	}
	return m
}
