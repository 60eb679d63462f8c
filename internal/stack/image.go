package stack

import (
	"io"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
)

// Stack is a chain of frames, leaf first.
type Stack struct {
	Frames    []callchain.Frame
	Truncated bool
}

// Set is stacks with what their frames are named by. What its Images read stays
// readable while the process table holds their objects (process.Table.Hold).
type Set struct {
	Stacks []Stack
	Images map[callchain.ObjectID]*Image // what the frames lie in
	// Labels are the words that frames of the object Labels stand for.
	Labels []string
	// Functions are what frames of the object Functions stand for.
	Functions []Function
	// Unknown are the runtimes whose functions can't be told, each once.
	Unknown []error
}

// Image is a process.Object as it was when it was looked at.
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

// NewSet makes a Set of stacks whose frames lie in the objects of a process table.
func NewSet(stacks []Stack, objects map[callchain.ObjectID]*process.Object) Set {
	images := make(map[callchain.ObjectID]*Image)
	for _, s := range stacks {
		for _, f := range s.Frames {
			if f.Object < callchain.Marks && images[f.Object] == nil {
				images[f.Object] = NewImage(objects[f.Object])
			}
		}
	}
	return Set{Stacks: stacks, Images: images}
}

// NewImage notes how an object can be read.
func NewImage(o *process.Object) *Image {
	m := &Image{Kind: o.Kind, Path: o.Path, PID: o.PID}
	m.Code, m.Size, m.Err = o.Open()
	if o.Kind == process.Anon {
		m.PerfMap, m.Err = o.PerfMap()
	}
	return m
}
