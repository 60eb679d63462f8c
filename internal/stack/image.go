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
// readable until the process table is closed.
type Set struct {
	Stacks []Stack
	// Images holds what the frames lie in, by callchain.ObjectID; nil for an object
	// that no frame lies in.
	Images []*Image
	// Labels are the words that frames of the object Labels stand for.
	Labels []string
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
func NewSet(stacks []Stack, objects []*process.Object) Set {
	images := make([]*Image, len(objects))
	for _, s := range stacks {
		for _, f := range s.Frames {
			if f.Object != Labels && images[f.Object] == nil {
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
