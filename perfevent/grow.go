package perfevent

import (
	"errors"
	"fmt"
	"slices"

	perf "github.com/elastic/go-perf"
)

// ErrGrowing: an earlier GrowStack of the session is not through yet.
var ErrGrowing = errors.New("a copy of the stack is growing already")

// GrowStack makes the samples of samplings carry more of the user stack, or less, from
// about the next look at the rings on, without a hit being missed or handed on twice.
// It may be called while Read runs, also by the function that Read calls; it takes as
// long as Open. Of samplings that have as many bytes already nothing changes.
//
// What is recorded twice in the moment of change counts as Account.Duplicates. If
// records are lost in that very moment the Account is no longer Exact.
//
// Only tracepoints and uprobes with a Period of 1 can grow, since only their
// records come in a known order; for others the error is ErrInvalid. It is
// ErrGrowing until a growth before is through, about half a second, and an
// *OpenError if the events cannot be opened; the samplings then stay as they are.
func (s *Session) GrowStack(bytes uint32, samplings ...int) error {
	return s.change(fmt.Sprintf("copy %d bytes of stack", bytes), samplings, func(of *Sampling) { of.UserStack = bytes })
}

// WakeEvery has samplings that are Soon wake their reader at each so many samples, as GrowStack
// changes copies of the stack: waking takes longer than a sample where they come often. What
// has a period should have another one than the samples: a prime number.
func (s *Session) WakeEvery(samples uint32, samplings ...int) error {
	return s.change(fmt.Sprintf("wake at each %d samples", samples), samplings, func(of *Sampling) { of.SoonEvery = samples })
}

// change changes what samplings are, in a way that leaves the layout of their samples as it is.
func (s *Session) change(what string, samplings []int, to func(*Sampling)) error {
	larger, changing, err := s.reserve(samplings, to)
	if len(changing) == 0 {
		return err
	}
	g, err := s.openGrowth(changing, larger)
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	if err != nil {
		s.grow.busy = false
		return fmt.Errorf("%s: %w", what, err)
	}
	s.grow.samplings = larger
	s.grow.next = g
	s.poll.wake()
	return nil
}

// Grown reports whether the samples from a time on (Header.Time) carry as many bytes as
// GrowStack was last asked for.
func (s *Session) Grown(from uint64) bool {
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	return (!s.grow.busy || s.grow.now != nil) && from >= s.grow.ended
}

// reserve returns all samplings as they are to be, and those that change, and keeps others from
// changing at the same time.
func (s *Session) reserve(samplings []int, to func(*Sampling)) (larger []Sampling, changing []int, err error) {
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	larger = slices.Clone(s.now())
	for _, i := range samplings {
		before := larger[i]
		to(&larger[i])
		if larger[i] != before {
			changing = append(changing, i)
		}
		if err := larger[i].validate(); err != nil {
			return nil, nil, err
		}
		if event := larger[i].Event; event.kind == ordinaryEvent && event.attr.Type != perf.TracepointEvent || larger[i].Period != 1 {
			return nil, nil, &OpenError{Event: event.String(), Target: s.target.String(), Kind: ErrInvalid, Err: ErrInvalid,
				Hint: "only tracepoints and uprobes whose every hit is a sample can be given a larger copy of the stack"}
		}
	}
	if len(changing) > 0 && s.grow.busy {
		return nil, nil, ErrGrowing
	}
	s.grow.busy = s.grow.busy || len(changing) > 0
	return larger, changing, nil
}

// now returns the samplings as they have become. The caller has the lock of s.grow.
func (s *Session) now() []Sampling {
	if s.grow.samplings != nil {
		return s.grow.samplings
	}
	return s.samplings
}

// Changes counts how often events were replaced by others: by GrowStack, WakeEvery or
// CountApart. Events then returns others. It may be called at any time.
func (s *Session) Changes() int { return int(s.grow.changes.Load()) }

// openGrowth opens the events that take over, disabled. It does so as a session
// that has the same target and rings.
func (s *Session) openGrowth(changing []int, larger []Sampling) (*growth, error) {
	g := &growth{changing: changing, larger: larger, pids: s.Processes()}
	o := s.growthSession(g)
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
	g.ambiguous, g.opened = o.duplicates.ambiguous, Now()
	g.add(o.events)
	return g, nil
}

func (s *Session) growthSession(g *growth) *Session {
	o := &Session{target: s.target, samplings: g.larger, only: g.changing, opts: s.opts, cpus: s.cpus, rings: s.rings,
		format: s.format, ringSize: s.ringSize, samplesOnly: true}
	o.target.tree = false // what is watched is known
	return o
}
