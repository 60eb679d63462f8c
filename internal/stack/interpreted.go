package stack

import (
	"path"
	"strings"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/perfevent"
)

// SampleReader reads the memory of threads at their samples. It is an *atsample.Reader outside of
// tests.
type SampleReader interface {
	// Watch starts reading interpreter frames at each sample of p, which has the given runtimes.
	Watch(p *process.Process, runtimes []*interp.Namer)
	// ReadDeepStacks starts reading the stacks of p past the copies of its samples. known is what
	// was read at the sample whose stack is cut.
	ReadDeepStacks(p *process.Process, known *atsample.Calls)
	// FollowSwitches starts reading the stacks of p that the given functions switch to. known is
	// what was read at the sample whose stack lacks callers.
	FollowSwitches(p *process.Process, crossings []callchain.Crossing, known *atsample.Calls)
	// MarkEnd notes that no stack of p that lies below addr extends past it.
	MarkEnd(p *process.Process, addr uint64)
	// MarkDead notes that the memory in [start, end) holds no frames of the stacks of p.
	MarkDead(p *process.Process, start, end uint64)
	// At returns what was read at a sample, and may block until it is there.
	At(s *perfevent.Sample) atsample.Calls
}

// ReadAtSamples makes stacks show what reader reads at their samples.
func (s *Store) ReadAtSamples(reader SampleReader) { s.runtimes.reader = reader }

// Prepare makes ringtap read the interpreted calls of p from its next samples on, if p has
// interpreters.
func (s *Store) Prepare(p *process.Process) { s.runtimes.heap(s.processes.Host(), p) }

// heap returns the interpreters of a process, or nil. Most processes have none.
func (f *Runtimes) heap(host process.Host, p *process.Process) *interpreted {
	if f.reader == nil {
		return nil
	}
	return f.hosted(host, p).heap
}

// interpreted has the interpreters of a process.
type interpreted struct {
	to   *Runtimes
	by   map[uint64]interp.Runtime // by atsample.RuntimeID
	room []interp.Frame
}

func newInterpreted(to *Runtimes, runtimes []*interp.Namer) *interpreted {
	in := &interpreted{to: to, by: make(map[uint64]interp.Runtime)}
	for _, r := range runtimes {
		in.by[atsample.RuntimeID(r.Name())] = r
	}
	return in
}

// atSample returns the user stack of a sample. Memory of the process was also read at the time of
// the sample.
func (s *Store) atSample(stacker *Stacker, p *process.Process, h *hosted, sample *perfevent.Sample) User {
	if s.processes.Refuses() {
		return User{ID: None} // At may wait
	}
	calls := s.runtimes.reader.At(sample)
	user := s.native(stacker, p, sample, &calls)
	if stacker.Beyond && user.Marked {
		s.cross(p, &user, &calls)
	}
	switch {
	case isDeep(stacker, user):
		user.Early = calls.Early
		s.deepen(stacker, p, sample, &calls)
	case user.End == callchain.Complete:
		s.tellTop(p, calls.Beyond, &user)
	}
	if h.heap == nil || !user.Found {
		return user
	}
	user.Interpreted, user.Calls, user.Native = true, calls.Kind, None
	if stacker.Native {
		user.Native = user.ID
		if !calls.Beyond.Empty() || len(calls.Others) > 0 {
			user.Native = s.native(stacker, p, sample, &unread).ID
		}
	}
	if user.Kept && len(calls.Chains) > 0 {
		frames := s.joined(h.heap, s.Stack(user.ID).Frames, user.End, &calls)
		user.ID, user.Kept = s.intern(frames, user.End == callchain.Cut)
	}
	return user
}

// joined inserts interpreted calls into the native frames of a thread.
func (s *Store) joined(in *interpreted, native []callchain.Frame, end callchain.End, calls *atsample.Calls) []callchain.Frame {
	chains := s.chains[:0]
	for _, c := range calls.Chains {
		if r := in.by[c.Runtime]; r != nil {
			chains = append(chains, interp.Chain{Runtime: r, Calls: c.Calls})
		}
	}
	s.chains = chains
	s.entries, _ = interp.Join(s.entries[:0], native, end != callchain.Complete, chains)
	frames := s.frames[:0]
	if calls.Kind == helper.Near && len(chains) > 0 {
		frames = append(frames, s.words.frame(atsample.Late))
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

// frames appends the frames of a call to dst, innermost first.
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

// Gone is the name of a function whose code or data was gone when ringtap read its name.
const Gone = "[gone]"

// MayBeInterpreter reports whether a file may be an interpreter whose calls SampleReader can read. It
// looks at the file's name.
func MayBeInterpreter(file string) bool {
	name := strings.TrimPrefix(path.Base(file), "lib")
	for _, prefix := range []string{"python", "php", "perl", "ruby"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
