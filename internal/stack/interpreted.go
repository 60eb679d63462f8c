package stack

import (
	"path"
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/moment"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/perfevent/near"
)

// Moments knows the calls of interpreted code at the moments of samples: a moment.Reader.
type Moments interface {
	// Watch says that samples of a process will be asked for, which has runtimes.
	Watch(p *process.Process, runtimes []*interp.Namer)
	// Deepen says that stacks of a process are deeper than the copies: the next ones are to be read
	// whole, if that can be. This one is not, with what is known of it.
	Deepen(p *process.Process, known *moment.Calls)
	// Cross starts reading the stacks of p that the given functions switch to. known is what was read at the
	// sample whose stack lacks callers.
	Cross(p *process.Process, crossings []callchain.Crossing, known *moment.Calls)
	// Top says that no stack of a process which lies below an address goes on beyond it.
	Top(p *process.Process, addr uint64)
	// Over says that the chains of stacks which lie below an address lead over what lies between it and
	// another one.
	Over(p *process.Process, from, to uint64)
	// At returns the calls of a sample, and may wait for them.
	At(s *perfevent.Sample) moment.Calls
}

// Moments has stacks show the functions of interpreted code.
func (s *Store) Moments(m Moments) { s.runtimes.moments = m }

// Prepare has the calls of a process's interpreters, if it has any, known from its next samples
// on.
func (s *Store) Prepare(p *process.Process) { s.runtimes.heap(s.processes.Host(), p) }

// heap is the interpreters of a process; nil for most.
func (f *Runtimes) heap(host process.Host, p *process.Process) *interpreted {
	if f.moments == nil {
		return nil
	}
	return f.hosted(host, p).heap
}

// interpreted is the interpreters of a process.
type interpreted struct {
	to   *Runtimes
	by   map[uint64]interp.Runtime // by moment.IDOf
	room []interp.Frame
}

func newInterpreted(to *Runtimes, runtimes []*interp.Namer) *interpreted {
	in := &interpreted{to: to, by: make(map[uint64]interp.Runtime)}
	for _, r := range runtimes {
		in.by[moment.IDOf(r.Name())] = r
	}
	return in
}

// momentous makes the user stack of a sample of a process of which more is read at that moment.
func (s *Store) momentous(by *Stacker, p *process.Process, h *hosted, sample *perfevent.Sample) User {
	if s.processes.Refuses() {
		return User{ID: None} // it may have to wait
	}
	calls := s.runtimes.moments.At(sample)
	user := s.native(by, p, sample, &calls)
	if by.Beyond && user.Marked {
		s.cross(p, &user, &calls)
	}
	switch {
	case isDeep(by, user):
		user.Early = calls.Early
		s.deepen(by, p, sample, &calls)
	case user.End == callchain.Complete:
		s.tellTop(p, calls.Beyond, &user)
	}
	if h.heap == nil || !user.Found {
		return user
	}
	user.Interpreted, user.Calls, user.Native = true, calls.Kind, None
	if by.Native {
		user.Native = user.ID
		if !calls.Beyond.Empty() || len(calls.Others) > 0 {
			user.Native = s.native(by, p, sample, &unread).ID
		}
	}
	if user.Kept && len(calls.Chains) > 0 {
		frames := s.joined(h.heap, s.Stack(user.ID).Frames, user.End, &calls)
		user.ID, user.Kept = s.intern(frames, user.End == callchain.Cut)
	}
	return user
}

// joined puts calls into the native frames of a thread.
func (s *Store) joined(in *interpreted, native []callchain.Frame, end callchain.End, calls *moment.Calls) []callchain.Frame {
	chains := s.chains[:0]
	for _, c := range calls.Chains {
		if r := in.by[c.Runtime]; r != nil {
			chains = append(chains, interp.Chain{Runtime: r, Calls: c.Calls})
		}
	}
	s.chains = chains
	s.entries, _ = interp.Join(s.entries[:0], native, end != callchain.Complete, chains)
	frames := s.frames[:0]
	if calls.Kind == near.Near && len(chains) > 0 {
		frames = append(frames, s.words.frame(moment.Late))
	}
	for _, e := range s.entries {
		if e.Native >= 0 {
			frames = append(frames, native[e.Native])
		} else {
			frames = in.frames(frames, e.Chain.Runtime, e.Call)
		}
	}
	s.frames = frames
	return frames
}

// frames appends what a call stands for to dst, the innermost first.
func (in *interpreted) frames(dst []callchain.Frame, r interp.Runtime, c interp.Call) []callchain.Frame {
	named, ok := r.Frames(in.room[:0], c)
	if !ok {
		named = append(named, interp.Frame{Function: Gone})
	}
	in.room = named
	for _, frame := range named {
		if f, ok := in.to.frame(Function{Level: interp.Level{Frame: frame}, Runtime: r.Name()}); ok {
			dst = append(dst, f)
		}
	}
	return dst
}

// Gone is the name of a function that ended before it was asked for.
const Gone = "[gone]"

// MayBeInterpreter reports whether a file's name is one that an interpreter has whose calls Moments knows.
func MayBeInterpreter(file string) bool {
	name := strings.TrimPrefix(path.Base(file), "lib")
	for _, prefix := range []string{"python", "php", "perl", "ruby"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
