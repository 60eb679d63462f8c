package stack

import (
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/perfevent"
)

// None is the ID of no stack: nobody asked for a stack, or the sample had none.
const None = ^callchain.StackID(0)

// Store unwinds the stacks of samples and keeps each distinct one once. Only one goroutine may use
// it.
type Store struct {
	processes *process.Table
	full      func() bool
	interner  *callchain.Interner
	memo      *memo
	wholes    *wholes
	returns   returns
	words     words
	runtimes  *Runtimes
	others    others
	frames    []callchain.Frame // buffer to build a chain
	entries   []interp.Entry    // buffer
	chains    []interp.Chain    // buffer
}

// NewStore returns a Store for the processes of a table. While full returns true, it keeps no new
// stacks. full may be nil.
func NewStore(processes *process.Table, full func() bool) *Store {
	return &Store{
		processes: processes, full: full, interner: callchain.NewInterner(),
		memo: newMemo(processes.Host().Arch()), wholes: newWholes(), returns: make(returns), words: newWords(), runtimes: NewRuntimes(processes),
	}
}

// Stacker returns a Stacker for this Store. All Stackers of a Store share what they know about
// probed returns, because stacks of one sampling have calls of another in them.
func (s *Store) Stacker(stacks Stacks) *Stacker {
	by := NewStacker(s.processes.Host(), stacks)
	by.returns = s.returns
	by.Know(s.runtimes)
	return by
}

// unread is used if nothing but the sample was read of a thread. Nothing writes to it.
var unread atsample.Calls

// User is the user stack of a sample.
type User struct {
	Found bool // the sample has one
	// Unmapped says that there is no stack because ringtap knows no mapping at the address where
	// the thread ran.
	Unmapped bool
	Kept     bool              // there was memory for it
	ID       callchain.StackID // None unless Kept
	End      callchain.End
	// Interpreted says that the process has an interpreter whose functions are wanted. Calls says
	// how they are known.
	Interpreted bool
	Calls       helper.Certainty
	// Native is the ID that the stack would have without interpreted functions. It is set if
	// Interpreted is. It is None if there was no memory for it, or without Stacks.Native.
	Native callchain.StackID

	// Early says that the stack was cut short before ringtap read stacks of its process beyond the
	// copies.
	Early bool

	// Marked says that callers are missing where the stack continues on another one: see
	// callchain.Unwinder.Marked.
	Marked bool

	// With Stacks.Beyond:
	reach uint64    // callchain.Unwinder.Reach
	gap   [2]uint64 // callchain.Unwinder.Gap
}

// User returns the user stack of a sample of p. Found is false if unwinding needs code that the
// process table refuses to read now (process.Table.CachedOnly).
func (s *Store) User(stacker *Stacker, p *process.Process, sample *perfevent.Sample) User {
	if stacker.Interpreted && s.runtimes.reader != nil {
		if h := s.runtimes.hosted(s.processes.Host(), p); h.heap != nil || h.deep || h.crosses {
			return s.atSample(stacker, p, h, sample)
		}
	}
	user := s.native(stacker, p, sample, &unread)
	if stacker.Beyond && user.Marked {
		s.cross(p, &user, &unread)
	}
	if isDeep(stacker, user) && !s.completes(p, &user) {
		user.Early = true
		s.deepen(stacker, p, sample, &unread)
	}
	return user
}

// completes reports whether a known whole stack completes a cut stack of p.
func (s *Store) completes(p *process.Process, user *User) bool {
	if !user.Kept {
		return false
	}
	_, ok := s.Completed(p.Comm, user.ID)
	return ok
}

// native returns the user stack of a sample, from its registers and its copy of the stack. read is
// what else was read of the thread's stacks. It can complete stacks that would be cut short or
// marked.
func (s *Store) native(stacker *Stacker, p *process.Process, sample *perfevent.Sample, read *atsample.Calls) User {
	if c := s.memo.find(&stacker.Stacks, p, sample); c != nil && (c.end != callchain.Cut || read.Beyond.Empty()) {
		stacker.note(p, sample)
		return User{Found: true, Kept: true, ID: c.id, End: c.end, reach: c.reach}
	}
	stacker.capture.Beyond, stacker.capture.Other = read.Beyond, s.others.of(sample, read)
	frames, end := stacker.User(p, sample)
	stacker.capture.Beyond, stacker.capture.Other = callchain.Beyond{}, nil
	marked := stacker.unwinder.Marked()
	if from := s.processes.Host().Recording; from != nil && from.Function != nil {
		frames, end = s.recorded(from, frames, end)
		marked = marked || slices.ContainsFunc(frames, isMark)
	}
	if len(frames) == 0 || s.processes.Refused() {
		return User{ID: None, Unmapped: stacker.unmapped}
	}
	id, kept := s.intern(frames, end == callchain.Cut)
	if !kept && (!read.Beyond.Empty() || len(read.Others) > 0) {
		return s.native(stacker, p, sample, &unread) // the part in the copy may be known
	}
	user := User{Found: true, Kept: kept, ID: id, End: end, Marked: marked}
	if stacker.Beyond {
		user.reach = stacker.unwinder.Reach()
		user.gap[0], user.gap[1] = stacker.unwinder.Gap()
	}
	if kept && stacker.repeatable() {
		s.memo.keep(&stacker.Stacks, p, sample, stacker.reads(), user)
	}
	return user
}

// Kernel returns the kernel stack of a sample, or None if it has none. kept is false if there was
// no memory for it.
func (s *Store) Kernel(stacker *Stacker, sample *perfevent.Sample) (id callchain.StackID, kept bool) {
	frames := stacker.Kernel(sample)
	if len(frames) == 0 {
		return None, true
	}
	return s.intern(frames, false)
}

// Frames stores a stack that did not come with a sample. It returns None if there are no frames,
// and false if there was no memory for it.
func (s *Store) Frames(frames []callchain.Frame, truncated bool) (callchain.StackID, bool) {
	if len(frames) == 0 {
		return None, true
	}
	return s.intern(frames, truncated)
}

// With returns the stack id, which may be None, plus a label as its leaf. It returns false if there
// was no memory for it.
func (s *Store) With(id callchain.StackID, label string) (callchain.StackID, bool) {
	var below Stack
	if id != None {
		below = s.Stack(id)
	}
	s.frames = append(append(s.frames[:0], s.words.frame(label)), below.Frames...)
	return s.intern(s.frames, below.Truncated)
}

// Join returns the stack id, which may be None, then label, then the stacks of others upside down,
// then name. So the innermost functions of both are next to each other. It returns false if there
// was no memory for it.
func (s *Store) Join(id callchain.StackID, label string, others []callchain.StackID, name string) (callchain.StackID, bool) {
	frames := append(s.frames[:0], s.words.frame(name))
	for _, other := range others {
		if other != None {
			begin := len(frames)
			frames = append(frames, s.Stack(other).Frames...)
			slices.Reverse(frames[begin:])
		}
	}
	frames = append(frames, s.words.frame(label))
	var below Stack
	if id != None {
		below = s.Stack(id)
	}
	s.frames = append(frames, below.Frames...)
	return s.intern(s.frames, below.Truncated)
}

// intern returns the ID of a chain, or false if it is new and there is no memory for it.
func (s *Store) intern(frames []callchain.Frame, truncated bool) (callchain.StackID, bool) {
	if id, ok := s.interner.Find(frames, truncated); ok {
		return id, true
	}
	if s.full != nil && s.full() {
		return None, false
	}
	return s.interner.Intern(frames, truncated), true
}

// Stack returns a stack by its id. Its frames must not be changed.
func (s *Store) Stack(id callchain.StackID) Stack {
	frames, truncated := s.interner.Stack(id)
	return Stack{Frames: frames, Truncated: truncated}
}

// Set returns a Set of stacks of the Store.
func (s *Store) Set(stacks []Stack) Set {
	set := NewSet(stacks, s.processes.Objects())
	set.Unknown = s.runtimes.Errors()
	set.Labels, set.Functions = slices.Clip(s.words.all), s.runtimes.Functions()
	return set
}

// Len returns the number of stacks.
func (s *Store) Len() int { return s.interner.Len() }

// Bytes returns the memory of the stacks.
func (s *Store) Bytes() int { return s.interner.Bytes() + s.wholes.bytes() }

// Objects calls hold with each object of the stacks' frames: see process.Table.Hold.
func (s *Store) Objects(hold func(callchain.ObjectID)) { s.interner.Objects(hold) }

// Keep makes a stack survive the next Sweep. id may be None.
func (s *Store) Keep(id callchain.StackID) {
	if id != None {
		s.interner.Keep(id)
	}
}

// Sweep forgets all stacks except those for which Keep was called since the last Sweep. Their IDs
// do not change.
func (s *Store) Sweep() {
	s.interner.Sweep()
	s.memo.forget()
	s.runtimes.forget()
	s.wholes.forget()
}
