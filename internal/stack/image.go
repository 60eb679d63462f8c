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

// Set is a set of stacks with everything that is needed to name their frames. The files of Images
// stay readable while the process table holds their objects (process.Table.Hold).
type Set struct {
	Stacks []Stack
	Images map[callchain.ObjectID]*Image // objects of the frames
	// Labels are the words of frames whose object is Labels.
	Labels []string
	// Functions are the functions of frames whose object is Functions.
	Functions []Function
	// Unknown says which runtimes' functions could not be named, once each, and why.
	Unknown []error
}

// Image is a process.Object as it was when the Set was made.
type Image struct {
	Kind process.Kind
	Path string
	PID  int
	// Code reads the ELF file. If it is nil, Err says why.
	Code io.ReaderAt
	Size int64 // of Code, in bytes
	Err  error
	// PerfMap reads the names of generated code; nil if there are none.
	PerfMap io.Reader
}

// NewSet returns a Set of stacks. objects has the objects of their frames.
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

// NewImage opens an object's files.
func NewImage(o *process.Object) *Image {
	m := &Image{Kind: o.Kind, Path: o.Path, PID: o.PID}
	m.Code, m.Size, m.Err = o.Open()
	if o.Kind == process.Anon {
		m.PerfMap, m.Err = o.PerfMap()
	}
	return m
}
