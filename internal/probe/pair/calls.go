package pair

import "unsafe"

// Call is a call in progress. Payload is what its user wants to know at its end.
type Call[P any] struct {
	Function int    // the user's number; a return ends only calls of its own function
	Slot     uint64 // the place of its frame: see Site.Place
	Start    uint64 // nanoseconds
	CPU      uint32 // CPU where it started
	Payload  P

	inner    uint64 // nanoseconds spent in calls inside it
	counted  uint64 // nanoseconds of its own time already yielded by Spent
	doubtful bool   // a later call's frame was at the same place or above it, so it may have been left
}

// Ended is a call that has ended.
type Ended[P any] struct {
	Call[P]
	End uint64 // nanoseconds
	// Own is its time in nanoseconds, without calls inside it and without time already yielded
	// by Spent. The sum of all is the time in which any call was in progress.
	Own uint64
}

// Counts says what happened to calls that did not end with a return. Every call passed to Enter
// was returned by Leave, or is Open, Left or Broken.
type Counts struct {
	began     uint64 // entries
	Unmatched uint64 // returns without an entry
	Left      uint64 // entries that can no longer get a return
	Broken    uint64 // calls given up because records were lost
}

// maxOpen bounds the open calls of a task. Beyond it the oldest are forgotten: no stack is that
// deep, so longjmp has left them.
const maxOpen = 1 << 16

// Calls holds the calls in progress. It belongs to one goroutine.
type Calls[P any] struct {
	Counts Counts
	// Gone, if not nil, is called for each call given up because its thread ends or executes
	// another program. self is the time the call has spent until then: see Spent. It is 0 if
	// the call may have ended earlier.
	Gone func(call *Call[P], self uint64)

	tasks map[Task]*stack[P]
	// uncertain holds calls that started on one CPU and ended on another, by the first CPU,
	// until that CPU's ring has shown that it lost nothing.
	uncertain map[uint32][]Ended[P]
	open      int // number of calls in tasks
}

// stack holds the open calls of a task, in the order in which they started.
type stack[P any] struct{ calls []Call[P] }

// New returns an empty Calls.
func New[P any]() *Calls[P] {
	return &Calls[P]{tasks: make(map[Task]*stack[P]), uncertain: make(map[uint32][]Ended[P])}
}

// Enter adds a call that starts.
func (c *Calls[P]) Enter(task Task, began Call[P]) {
	c.Counts.began++
	s := c.tasks[task]
	if s == nil {
		s = &stack[P]{}
		c.tasks[task] = s
	}
	if len(s.calls) >= maxOpen {
		half := len(s.calls) / 2
		c.Counts.Left += uint64(half)
		c.open -= half
		s.calls = append(s.calls[:0], s.calls[half:]...)
	}
	s.doubt(began.Slot)
	s.calls = append(s.calls, began)
	c.open++
}

// Leave returns the call that a return ends, and false if its entry was not seen.
func (c *Calls[P]) Leave(task Task, function int, slot, now uint64) (Ended[P], bool) {
	s := c.tasks[task]
	if s == nil {
		c.Counts.Unmatched++
		return Ended[P]{}, false
	}
	for i := len(s.calls) - 1; i >= 0; i-- {
		if s.calls[i].Slot != slot || s.calls[i].Function != function {
			continue
		}
		return c.end(s, i, now), true
	}
	c.Counts.Unmatched++
	return Ended[P]{}, false
}

// end removes call i from a stack. Calls that started later and lie below it on the same stack
// are gone too. Another stack of the thread, a signal's or a coroutine's, may lie anywhere.
func (c *Calls[P]) end(s *stack[P], i int, now uint64) Ended[P] {
	found := s.calls[i]
	kept := s.calls[:i]
	for _, later := range s.calls[i+1:] {
		if later.Slot >= found.Slot {
			kept = append(kept, later)
			continue
		}
		c.Counts.Left++
		found.inner += later.inner + later.counted
	}
	c.open -= len(s.calls) - len(kept)
	clear(s.calls[len(kept):])
	s.calls = kept
	for j := i - 1; j >= 0; j-- {
		if outer := &s.calls[j]; outer.Slot >= found.Slot {
			outer.inner += now - found.Start
			break
		}
	}
	return Ended[P]{Call: found, End: now, Own: found.own(now)}
}

// Around returns the last started call, of any function, that is still open around a frame of a
// task, or nil. It is valid until the next method call. After Leave, with the slot of the ended
// call, it tells whether that call was inside another.
func (c *Calls[P]) Around(task Task, slot uint64) *Call[P] {
	s := c.tasks[task]
	if s == nil {
		return nil
	}
	for i := len(s.calls) - 1; i >= 0; i-- {
		if s.calls[i].Slot >= slot {
			return &s.calls[i]
		}
	}
	return nil
}

// Each yields every open call, and every call kept by Hold, so that its payload can be read or
// changed.
func (c *Calls[P]) Each(yield func(*Call[P])) {
	for _, s := range c.tasks {
		for i := range s.calls {
			yield(&s.calls[i])
		}
	}
	for _, held := range c.uncertain {
		for i := range held {
			yield(&held[i].Call)
		}
	}
}

// Open returns how many calls may still return. Of several calls with one frame only the last
// can; left is the number of the others.
func (c *Calls[P]) Open() (open, left uint64) {
	type frame struct {
		function int
		slot     uint64
	}
	seen := make(map[frame]bool)
	for _, s := range c.tasks {
		clear(seen)
		for i := range s.calls {
			f := frame{s.calls[i].Function, s.calls[i].Slot}
			if seen[f] {
				left++
			}
			seen[f] = true
		}
		open += uint64(len(seen))
	}
	return open, left
}

// Bytes returns the approximate memory of the calls, without memory that payloads refer to.
func (c *Calls[P]) Bytes() int {
	const task = 64 // size of its map entry
	return c.open*int(unsafe.Sizeof(Call[P]{})) + len(c.tasks)*task
}
