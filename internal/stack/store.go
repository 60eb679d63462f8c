package stack

import (
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/moment"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/perfevent/near"
)

// None in place of a stack's id says that there is no stack: it was not asked for, or
// the sample had none.
const None = ^callchain.StackID(0)

// Store makes the stacks of samples and keeps each distinct one once. It belongs to
// one goroutine.
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
	frames    []callchain.Frame // room to build a chain in
	entries   []interp.Entry    // likewise
	chains    []interp.Chain    // likewise
}

// NewStore makes a Store of stacks of those processes. While full, which nil stands
// for never, it takes no stack that it does not have.
func NewStore(processes *process.Table, full func() bool) *Store {
	return &Store{
		processes: processes, full: full, interner: callchain.NewInterner(),
		memo: newMemo(processes.Host().Arch()), wholes: newWholes(), returns: make(returns), words: newWords(), runtimes: NewRuntimes(processes),
	}
}

// Stacker makes a Stacker whose stacks are for this Store. All of one Store know of
// each other's probed returns: calls of one are under way in stacks of others.
func (s *Store) Stacker(stacks Stacks) *Stacker {
	by := NewStacker(s.processes.Host(), stacks)
	by.returns = s.returns
	by.Know(s.runtimes)
	return by
}

// unread is known of a thread of which nothing was read beside the sample. Nothing writes to it.
var unread moment.Calls

// User is the user stack of a sample.
type User struct {
	Found bool // the sample has one
	// Unmapped says that the sample has none because ringtap knows no mapping where its thread ran.
	Unmapped bool
	Kept     bool              // there was room for it
	ID       callchain.StackID // None unless Kept
	End      callchain.End
	// Interpreted says that the process has an interpreter whose functions are asked for, and
	// Calls how they are known.
	Interpreted bool
	Calls       near.Kind
	// Native is the stack that ID would be if the interpreted functions had not been read. It is None if
	// there was no room for it, or without Stacks.Native. It is set if Interpreted is.
	Native callchain.StackID

	// Early says that the stack was cut short before the stacks of its process were read beyond
	// the copies.
	Early bool

	// Marked says that callers are missing where the stack goes on on another one: callchain.Unwinder.Marked.
	Marked bool

	// With Stacks.Beyond:
	reach uint64    // callchain.Unwinder.Reach
	gap   [2]uint64 // callchain.Unwinder.Gap
}

// User makes the user stack of a sample of a process. There is none where code would have to be
// read that the process table refuses to read now (process.Table.CachedOnly).
func (s *Store) User(by *Stacker, p *process.Process, sample *perfevent.Sample) User {
	if by.Moments && s.runtimes.moments != nil {
		if h := s.runtimes.hosted(s.processes.Host(), p); h.heap != nil || h.deep || h.crosses {
			return s.momentous(by, p, h, sample)
		}
	}
	user := s.native(by, p, sample, &unread)
	if by.Beyond && user.Marked {
		s.cross(p, &user, &unread)
	}
	if isDeep(by, user) && !s.completes(p, &user) {
		user.Early = true
		s.deepen(by, p, sample, &unread)
	}
	return user
}

// completes reports whether a whole stack is known that completes one of a process that was cut short.
func (s *Store) completes(p *process.Process, user *User) bool {
	if !user.Kept {
		return false
	}
	_, ok := s.Completed(p.Comm, user.ID)
	return ok
}

// native makes the user stack of a sample as its registers and its copy of the stack have it.
// What else was read of its stacks makes one whole that would be cut short, or marked.
func (s *Store) native(by *Stacker, p *process.Process, sample *perfevent.Sample, read *moment.Calls) User {
	if c := s.memo.find(&by.Stacks, p, sample); c != nil && (c.end != callchain.Cut || read.Beyond.Empty()) {
		by.note(p, sample)
		return User{Found: true, Kept: true, ID: c.id, End: c.end, reach: c.reach}
	}
	by.capture.Beyond, by.capture.Other = read.Beyond, s.others.of(sample, read)
	frames, end := by.User(p, sample)
	by.capture.Beyond, by.capture.Other = callchain.Beyond{}, nil
	if len(frames) == 0 || s.processes.Refused() {
		return User{ID: None, Unmapped: by.unmapped}
	}
	id, kept := s.intern(frames, end == callchain.Cut)
	if !kept && (!read.Beyond.Empty() || len(read.Others) > 0) {
		return s.native(by, p, sample, &unread) // the beginning may be known
	}
	user := User{Found: true, Kept: kept, ID: id, End: end, Marked: by.unwinder.Marked()}
	if by.Beyond {
		user.reach = by.unwinder.Reach()
		user.gap[0], user.gap[1] = by.unwinder.Gap()
	}
	if kept && by.Repeatable() {
		s.memo.keep(&by.Stacks, p, sample, by.Reads(), user)
	}
	return user
}

// Kernel makes the kernel stack of a sample: None if it has none, and false if there
// was no room for it.
func (s *Store) Kernel(by *Stacker, sample *perfevent.Sample) (id callchain.StackID, kept bool) {
	frames := by.Kernel(sample)
	if len(frames) == 0 {
		return None, true
	}
	return s.intern(frames, false)
}

// Frames keeps a stack that did not come with a sample. It returns None if there are no
// frames, and false if there was no room for it.
func (s *Store) Frames(frames []callchain.Frame, truncated bool) (callchain.StackID, bool) {
	if len(frames) == 0 {
		return None, true
	}
	return s.intern(frames, truncated)
}

// With is a stack, which may be None, with a label as its leaf. It reports false if
// there was no room for it.
func (s *Store) With(id callchain.StackID, label string) (callchain.StackID, bool) {
	var below Stack
	if id != None {
		below = s.Stack(id)
	}
	s.frames = append(append(s.frames[:0], s.words.frame(label)), below.Frames...)
	return s.intern(s.frames, below.Truncated)
}

// Join is a stack, which may be None, with a label on its leaf and on top of that
// others upside down, so that the innermost functions of both are next to each other,
// and last a name. It reports false if there was no room for it.
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

// intern returns the id of a chain; false if it is new and there is no room for it.
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

// Set returns stacks of the Store with what names them.
func (s *Store) Set(stacks []Stack) Set {
	set := NewSet(stacks, s.processes.Objects())
	set.Unknown = s.runtimes.Errors()
	set.Labels, set.Functions = slices.Clip(s.words.all), s.runtimes.Functions()
	return set
}

// Len is the number of stacks.
func (s *Store) Len() int { return s.interner.Len() }

// Bytes is the memory that the stacks take.
func (s *Store) Bytes() int { return s.interner.Bytes() + s.wholes.bytes() }

// Objects tells the objects that the frames of stacks lie in: see process.Table.Hold.
func (s *Store) Objects(hold func(callchain.ObjectID)) { s.interner.Objects(hold) }

// Keep has a stack, which may be None, outlive the next Sweep.
func (s *Store) Keep(id callchain.StackID) {
	if id != None {
		s.interner.Keep(id)
	}
}

// Sweep forgets all stacks but those that Keep was called for since the last Sweep.
// Those that are kept have the ids that they had.
func (s *Store) Sweep() {
	s.interner.Sweep()
	s.memo.forget()
	s.runtimes.forget()
	s.wholes.forget()
}
