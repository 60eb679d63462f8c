package stack

import (
	"path"
	"strings"
	"time"

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
	Watch(p *process.Process, runtimes []interp.Runtime)
	// Deepen says that stacks of a process are deeper than the copies: the next ones are to be read
	// whole, if that can be.
	Deepen(p *process.Process)
	// Top says that no stack of a process which lies below an address goes on beyond it.
	Top(p *process.Process, addr uint64)
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
	to    *Runtimes
	by    map[uint64]interp.Runtime // by moment.IDOf
	known map[place]*names
	last  map[code]Function // what was named last
	room  []interp.Frame
}

// place is a call without what joins it.
type place struct {
	runtime          interp.Runtime
	code, at, cookie uint64
}

// code is a function whose object was not replaced.
type code struct{ code, cookie uint64 }

// names are the frames of a place, as they were a while ago.
type names struct {
	frames []callchain.Frame
	asked  time.Time
}

// maxKnown and fresh bound what is remembered of a process: how many places, and for how long
// one is believed that was not asked for again. Functions may be freed, and others be where
// they were.
const (
	maxKnown = 1 << 16
	fresh    = 100 * time.Millisecond
)

func newInterpreted(to *Runtimes, runtimes []interp.Runtime) *interpreted {
	in := &interpreted{to: to, by: make(map[uint64]interp.Runtime), known: make(map[place]*names), last: make(map[code]Function)}
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
	user := s.native(by, p, sample, calls.Beyond)
	switch {
	case isDeep(by, user, sample):
		s.deepen(p)
	case user.End == callchain.Complete:
		s.tellTop(p, calls.Beyond, user.reach)
	}
	if h.heap == nil || !user.Found {
		return user
	}
	user.Interpreted, user.Calls = true, calls.Kind
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
			frames = append(frames, in.frames(e.Chain.Runtime, e.Call)...)
		}
	}
	s.frames = frames
	return frames
}

// frames are what a call stands for, the innermost first.
func (in *interpreted) frames(r interp.Runtime, c interp.Call) []callchain.Frame {
	at := place{r, c.Code, c.At, c.Cookie}
	n := in.known[at]
	now := time.Now()
	if n != nil && now.Sub(n.asked) < fresh {
		return n.frames
	}
	named, ok := r.Frames(in.room[:0], c)
	in.room = named
	if !ok {
		if n != nil {
			return n.frames // it was there when the thread was in it
		}
		f, ok := in.last[code{c.Code, c.Cookie}]
		if !ok {
			f = Function{Level: interp.Level{Frame: interp.Frame{Function: Gone}}, Runtime: r.Name()}
		}
		f.Line = 0
		return in.interned(nil, f)
	}
	if len(in.known) >= maxKnown {
		clear(in.known)
		clear(in.last)
	}
	if n == nil {
		n = new(names)
		in.known[at] = n
	}
	n.frames, n.asked = nil, now
	for _, frame := range named {
		f := Function{Level: interp.Level{Frame: frame}, Runtime: r.Name()}
		in.last[code{c.Code, c.Cookie}] = f
		n.frames = in.interned(n.frames, f)
	}
	return n.frames
}

// Gone is the name of a function that ended before it was asked for.
const Gone = "[gone]"

// interned appends the frame of a function, if there is room for it.
func (in *interpreted) interned(dst []callchain.Frame, f Function) []callchain.Frame {
	if frame, ok := in.to.frame(f); ok {
		return append(dst, frame)
	}
	return dst
}

// mayBeInterpreter tells by a file's name whether it may hold an interpreter.
func mayBeInterpreter(file string) bool {
	name := strings.TrimPrefix(path.Base(file), "lib")
	for _, prefix := range []string{"python", "php", "perl", "ruby"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
