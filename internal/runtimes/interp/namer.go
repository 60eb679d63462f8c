package interp

import (
	"slices"
	"sync"
	"time"

	"github.com/ringtap/ringtap/callchain"
)

// Namer is a Runtime that caches names, because the process or the function may end before
// Frames is called. Several goroutines may call its Frames and Note.
type Namer struct {
	Runtime

	mu        sync.Mutex
	places    map[place]names
	functions map[function][]Frame // without lines
	room      []Frame
}

// function identifies a call's function, and place the call's position in it.
type (
	function struct{ code, cookie uint64 }
	place    struct {
		function
		at uint64
	}
)

// names holds the frames of a place, as they were at a time.
type names struct {
	frames []Frame
	at     time.Time
}

// maxNamed bounds the places and the functions in a Namer's cache. fresh is how long it trusts
// a name: functions may be freed and others take their address.
const (
	maxNamed = 1 << 16
	fresh    = 100 * time.Millisecond
)

// NewNamer returns a Namer for a runtime. Nobody else may call the runtime's Frames.
func NewNamer(r Runtime) *Namer {
	return &Namer{Runtime: r, places: make(map[place]names), functions: make(map[function][]Frame)}
}

// Handler implements Handlers. It returns false if the runtime does not.
func (n *Namer) Handler(f callchain.Frame) bool {
	h, ok := n.Runtime.(Handlers)
	return ok && h.Handler(f)
}

// Compiled returns the runtime's answer, or false if the runtime is not a Compiler.
func (n *Namer) Compiled(f callchain.Frame) bool {
	c, ok := n.Runtime.(Compiler)
	return ok && c.Compiled(f)
}

// Switches implements Switcher. It returns false if the runtime does not.
func (n *Namer) Switches(f callchain.Frame) bool {
	s, ok := n.Runtime.(Switcher)
	return ok && s.Switches(f)
}

// Frames implements Runtime. If a function is gone, it returns the last known name. That has no
// line if the line was known only for other places in the function.
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

// Note names the calls of functions that are new, so that their names are known later.
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

// name asks the runtime for the frames of a call and caches them. If the runtime does not know
// them, name returns the cached ones, or false if there are none.
func (n *Namer) name(c Call, now time.Time) (result names, ok bool) {
	at := placeOf(c)
	if n.room, ok = n.Runtime.Frames(n.room[:0], c); ok {
		result.frames = slices.Clone(n.room)
		n.keep(at.function)
	} else if result, ok = n.places[at]; !ok {
		if result.frames, ok = n.functions[at.function]; !ok {
			return names{}, false
		}
	}
	if len(n.places) >= maxNamed {
		clear(n.places)
	}
	result.at = now
	n.places[at] = result
	return result, true
}

// keep caches n.room as the frames of a function, without lines.
func (n *Namer) keep(f function) {
	if len(n.functions) >= maxNamed {
		clear(n.functions)
	}
	for i := range n.room {
		n.room[i].Line = 0
	}
	n.functions[f] = slices.Clone(n.room)
}
