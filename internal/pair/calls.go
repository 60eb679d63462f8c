package pair

import "unsafe"

// Call is a call under way, with what its user wants to know at its end.
type Call[P any] struct {
	Function int    // the user's number; a return ends calls of its own function only
	Slot     uint64 // the place of its frame: see Site.Place
	Start    uint64 // nanoseconds
	CPU      uint32 // on which it began
	Payload  P

	inner    uint64 // nanoseconds that calls inside it have taken
	counted  uint64 // of its own time, that Spent has yielded
	doubtful bool   // a later call began where it or one above it on its stack had its frame
}

// Ended is a call that has ended.
type Ended[P any] struct {
	Call[P]
	End uint64 // nanoseconds
	// Own is how much of its time, in nanoseconds, went by outside of calls inside
	// it, and has not been yielded by Spent: the sum of all is the time in which
	// there was a call at all.
	Own uint64
}

// Counts says what became of calls that did not end by a return. The calls that
// Enter was told of are those that Leave has returned, that are Open, Left or
// Broken.
type Counts struct {
	Began     uint64 // entries
	Unmatched uint64 // returns without an entry
	Left      uint64 // entries that can have no return any more
	Broken    uint64 // calls given up because records were lost
}

// maxOpen bounds the calls of a task that are open at a time. Beyond it the
// oldest are forgotten: no stack is that deep, they were left by longjmp.
const maxOpen = 1 << 16

// Calls are the calls under way. They belong to one goroutine.
type Calls[P any] struct {
	Counts Counts
	// Gone, unless nil, is told of each call that is given up because its thread
	// ends or executes another program, with what it has spent until then: see
	// Spent. Calls of which it is doubtful that they lasted so long have spent
	// nothing.
	Gone func(call *Call[P], own uint64)

	tasks map[Task]*stack[P]
	// uncertain are those that began on one CPU and ended on another, by the
	// first CPU, until its ring has shown that nothing was lost.
	uncertain map[uint32][]Ended[P]
	open      int // calls in tasks
}

// stack is the open calls of a task, in the order in which they began.
type stack[P any] struct{ calls []Call[P] }

// New makes a Calls without any.
func New[P any]() *Calls[P] {
	return &Calls[P]{tasks: make(map[Task]*stack[P]), uncertain: make(map[uint32][]Ended[P])}
}

// Enter notes the begin of a call.
func (c *Calls[P]) Enter(task Task, began Call[P]) {
	c.Counts.Began++
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

// Leave returns the call that a return of a function ends, if its entry was seen.
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

// end takes a call out of a stack. What began later, below on the same stack, is
// gone. Another stack of the thread, a signal's or a coroutine's, may lie anywhere.
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

// Around returns the last call that began and is still open around a frame of a
// task, of whatever function, or nil. It is good until the next call of a method.
// Asked after Leave about the slot that ended, it tells whether that was a call
// inside of another.
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

// Each yields every call that is open, and every one that Hold keeps, to read or
// to change its payload.
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

// Open is how many calls may still return. Of those of one frame only the last
// can; left is how many others there are.
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

// Bytes is about how much memory the calls take, without what payloads refer to.
func (c *Calls[P]) Bytes() int {
	const task = 64 // its place in the map
	return c.open*int(unsafe.Sizeof(Call[P]{})) + len(c.tasks)*task
}
