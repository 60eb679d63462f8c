package interp

import (
	"slices"
	"sync"
	"time"

	"github.com/ringtap/ringtap/callchain"
)

// Namer is a Runtime that keeps what it has named, as the process may end, or the function, before
// it is asked for. Several goroutines may call its Frames and Note.
type Namer struct {
	Runtime

	mu        sync.Mutex
	places    map[place]names
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

// names are the frames of a place, as they were at a time.
type names struct {
	frames []Frame
	at     time.Time
}

// maxNamed bounds the places and the functions that a Namer keeps, and fresh is how long it believes a
// name. Functions may be freed, and others be where they were.
const (
	maxNamed = 1 << 16
	fresh    = 100 * time.Millisecond
)

// NewNamer makes a Namer of a runtime, whose Frames nobody else calls.
func NewNamer(r Runtime) *Namer {
	return &Namer{Runtime: r, places: make(map[place]names), functions: make(map[function][]Frame)}
}

// Handler is of Handlers. It reports false if the runtime is no Handlers.
func (n *Namer) Handler(f callchain.Frame) bool {
	h, ok := n.Runtime.(Handlers)
	return ok && h.Handler(f)
}

// Compiled is that of a Compiler. It reports false if the runtime is no Compiler.
func (n *Namer) Compiled(f callchain.Frame) bool {
	c, ok := n.Runtime.(Compiler)
	return ok && c.Compiled(f)
}

// Switches is of Switcher. It reports false if the runtime is no Switcher.
func (n *Namer) Switches(f callchain.Frame) bool {
	s, ok := n.Runtime.(Switcher)
	return ok && s.Switches(f)
}

// Frames is of Runtime. A function that is gone is what it was when it was named last, without its line
// if that was elsewhere in it.
func (n *Namer) Frames(dst []Frame, c Call) ([]Frame, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	of, ok := n.places[placeOf(c)]
	if !ok || now.Sub(of.at) >= fresh {
		of, ok = n.name(c, now)
	}
	return append(dst, of.frames...), ok
}

// Note names the calls of functions that are new.
func (n *Namer) Note(calls []Call) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for _, c := range calls {
		if _, ok := n.functions[placeOf(c).function]; !ok {
			n.name(c, now)
		}
	}
}

func placeOf(c Call) place { return place{function{c.Code, c.Cookie}, c.At} }

// name has the runtime name a call, and keeps that. It reports false if that was never possible.
func (n *Namer) name(c Call, now time.Time) (of names, ok bool) {
	at := placeOf(c)
	if n.room, ok = n.Runtime.Frames(n.room[:0], c); ok {
		of.frames = slices.Clone(n.room)
		n.keep(at.function)
	} else if of, ok = n.places[at]; !ok {
		if of.frames, ok = n.functions[at.function]; !ok {
			return names{}, false
		}
	}
	if len(n.places) >= maxNamed {
		clear(n.places)
	}
	of.at = now
	n.places[at] = of
	return of, true
}

// keep keeps the frames in the room as those of a function, without their lines.
func (n *Namer) keep(f function) {
	if len(n.functions) >= maxNamed {
		clear(n.functions)
	}
	for i := range n.room {
		n.room[i].Line = 0
	}
	n.functions[f] = slices.Clone(n.room)
}
