package perfevent

import (
	"errors"
	"fmt"

	perf "github.com/elastic/go-perf"
)

// ErrGrowing: an earlier GrowStack of the session is not through yet.
var ErrGrowing = errors.New("a copy of the stack is growing already")

// GrowStack makes the samples of a sampling carry more of the user stack, or less,
// from about the next look at the rings on, without a hit being missed or handed on
// twice. It may be called while Read runs, also by the function that Read calls;
// it takes as long as Open. As many bytes as the sampling has change nothing.
//
// What is recorded twice in the moment of change counts as Account.Duplicates. If
// records are lost in that very moment the Account is no longer Exact.
//
// Only tracepoints and uprobes with a Period of 1 can grow, since only their
// records come in a known order; for others the error is ErrInvalid. It is
// ErrGrowing until a growth before is through, about half a second, and an
// *OpenError if the events cannot be opened; the sampling then stays as it is.
func (s *Session) GrowStack(sampling int, bytes uint32) error {
	larger := s.samplings[sampling]
	larger.UserStack = bytes
	if err := larger.validate(); err != nil {
		return err
	}
	if larger.Event.kind == ordinaryEvent && larger.Event.attr.Type != perf.TracepointEvent || larger.Period != 1 {
		return &OpenError{Event: larger.Event.String(), Target: s.target.String(), Kind: ErrInvalid, Err: ErrInvalid,
			Hint: "only tracepoints and uprobes whose every hit is a sample can be given a larger copy of the stack"}
	}
	if grows, err := s.grow.reserve(sampling, bytes, s.samplings[sampling].UserStack); !grows {
		return err
	}
	g, err := s.openGrowth(sampling, larger)
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	if err != nil {
		s.grow.busy = false
		return fmt.Errorf("copy %d bytes of stack: %w", bytes, err)
	}
	s.grow.stack[sampling], s.grow.next = bytes, g
	s.poll.wake()
	return nil
}

// reserve reports whether a sampling has another number of bytes, and keeps others
// from growing at the same time.
func (s *growing) reserve(sampling int, bytes, opened uint32) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stack == nil {
		s.stack = make(map[int]uint32)
	}
	if now, grown := s.stack[sampling]; bytes == now || !grown && bytes == opened {
		return false, nil
	}
	if s.busy {
		return false, ErrGrowing
	}
	s.busy = true
	return true, nil
}

// openGrowth opens the events that take over, disabled. It does so as a session
// that has the same target and rings.
func (s *Session) openGrowth(sampling int, larger Sampling) (*growth, error) {
	o := s.growthSession(larger)
	for i := range s.watched {
		o.watched = append(o.watched, watched{pid: s.watched[i].pid, tid: s.watched[i].tid, pidfd: -1})
	}
	err := error(nil)
	switch {
	case s.target.kind == systemTarget, s.filter.active():
		err = o.attachSystem()
	case s.target.kind == cgroupTarget:
		err = o.attachCgroup()
	default:
		err = o.attachThreads()
	}
	if err != nil {
		return nil, errors.Join(err, closeEvents(o.events))
	}
	g := &growth{sampling: sampling, larger: larger, pids: s.Processes(), ambiguous: o.twice.ambiguous, opened: Now()}
	g.add(o.events)
	return g, nil
}

func (s *Session) growthSession(larger Sampling) *Session {
	return &Session{target: s.target, samplings: []Sampling{larger}, opts: s.opts, cpus: s.cpus, rings: s.rings,
		format: s.format, ringSize: s.ringSize, samplesOnly: true}
}
