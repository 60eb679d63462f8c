package interp

import (
	"slices"
	"sync"

	"github.com/ringtap/ringtap/callchain"
)

// Namer is a Runtime that keeps what it has named, as the process may end, or the function, before
// it is asked for. Several goroutines may call its Frames and Note.
type Namer struct {
	Runtime

	mu        sync.Mutex
	places    map[place][]Frame
	functions map[function][]Frame // without lines
	room      []Frame
}

// function is what tells a call's function from others, and place the call from others in it.
type (
	function struct{ code, cookie uint64 }
	place    struct {
		function
		at uint64
	}
)

// maxNamed bounds the places and the functions that a Namer keeps.
const maxNamed = 1 << 16

// NewNamer makes a Namer of a runtime, whose Frames nobody else calls.
func NewNamer(r Runtime) *Namer {
	return &Namer{Runtime: r, places: make(map[place][]Frame), functions: make(map[function][]Frame)}
}

// Handler is of Handlers. It reports false if the runtime is no Handlers.
func (n *Namer) Handler(f callchain.Frame) bool {
	h, ok := n.Runtime.(Handlers)
	return ok && h.Handler(f)
}

// Switches is of Switcher. It reports false if the runtime is no Switcher.
func (n *Namer) Switches(f callchain.Frame) bool {
	s, ok := n.Runtime.(Switcher)
	return ok && s.Switches(f)
}

// Frames is of Runtime. Of a function that is gone it returns what it was when it was named last,
// without its line if that was elsewhere in it.
func (n *Namer) Frames(dst []Frame, c Call) ([]Frame, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if named, ok := n.name(dst, c); ok {
		return named, true
	}
	at := placeOf(c)
	if named, ok := n.places[at]; ok {
		return append(dst, named...), true
	}
	named, ok := n.functions[at.function]
	return append(dst, named...), ok
}

// Note names the calls of functions that are new.
func (n *Namer) Note(calls []Call) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range calls {
		if _, ok := n.functions[placeOf(c).function]; !ok {
			n.room, _ = n.name(n.room[:0], c)
		}
	}
}

func placeOf(c Call) place { return place{function{c.Code, c.Cookie}, c.At} }

// name has the runtime name a call, and keeps that.
func (n *Namer) name(dst []Frame, c Call) ([]Frame, bool) {
	from := len(dst)
	dst, ok := n.Runtime.Frames(dst, c)
	if !ok {
		return dst[:from], false
	}
	at := placeOf(c)
	if len(n.places) >= maxNamed {
		clear(n.places)
	}
	if len(n.functions) >= maxNamed {
		clear(n.functions)
	}
	n.places[at] = slices.Clone(dst[from:])
	named := slices.Clone(dst[from:])
	for i := range named {
		named[i].Line = 0
	}
	n.functions[at.function] = named
	return dst, true
}
