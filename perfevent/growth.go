package perfevent

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// growing is what a session knows of samplings that get larger stack copies.
type growing struct {
	changes atomic.Int32 // growths that have begun

	mu        sync.Mutex // of what follows, and of Session.events once Open is through
	on        bool       // the samplings are enabled
	busy      bool       // from the opening of new events to the closing of old ones
	next      *growth    // not begun
	samplings []Sampling // what they have become; nil: what they were
	ended     uint64     // when the old events of the last growth had been disabled

	// Of the reader, until Read has returned.
	now     *growth       // begun, not through
	sets    []*duplicates // of new events; eventInfo.set counts from 1
	retired map[int]retired
	closing sync.WaitGroup // of old events, and of the opening of more new ones
}

// retired is what the closed events of a sampling leave to its account.
type retired struct {
	count
	inexact bool // records were lost while old and new events ran
}

// growth is the change of samplings to events with a larger copy of the stack.
//
// How much is copied is fixed when an event is opened. So a second set of events
// is opened, and while the old ones still run they are enabled; then the old ones
// are disabled. A hit in between gives two records, and the newer event's comes
// first: the kernel puts an event before those that are there, in a CPU's list of
// a tracepoint's events (perf_trace_add) as in a uprobe's list of consumers
// (consumer_add). From a thread's first new record on a CPU on, by the times, its
// old records there are therefore duplicates, and none before is. Each thread on
// each CPU stands for itself, in each sampling, since its events are enabled at a
// time of their own.
//
// A hit that was under way while the new events were enabled is of the old ones alone, so that
// they must be there until it is through: see quiesce.
//
// A hit that an event has counted when it is disabled may not be recorded by it
// any more. The new event has that hit too, so that none is missing, but Counted
// is then above the sum of the rest by one (seen once in thirty growths).
type growth struct {
	changing  []int      // the samplings
	larger    []Sampling // all of the session, these with what they copy next
	events    []attached
	apart     bool   // of CountApart
	filters   int    // of CountApart
	origins   int32  // above all of the events'
	pids      []int  // processes that have events of their own
	opened    uint64 // when all events were open
	ambiguous bool   // for the duplicates among the new events

	set   int32
	old   []attached
	first map[source]uint64 // times of the first new records
}

// source is where samples come from: of a sampling, a thread on a CPU.
type source struct {
	sampling int
	tid, cpu uint32
}

// changes tells whether the events of a sampling are replaced.
func (g *growth) changes(sampling int) bool { return slices.Contains(g.changing, sampling) }

// changeStacks begins a growth, or ends it once all that the old events have
// recorded was handed on. It is called between two looks at the rings.
func (s *Session) changeStacks() error {
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	switch {
	case s.grow.now != nil && s.merge.bound > s.grow.ended:
		return s.endGrowth()
	case s.grow.next == nil:
		return nil
	case s.children == nil:
		return s.beginGrowth(s.grow.next)
	case s.merge.bound > s.grow.next.opened: // all births are known
		g := s.grow.next
		pids := g.uncovered(s.children)
		if len(pids) == 0 {
			return s.beginGrowth(g)
		}
		s.grow.next = nil
		s.grow.closing.Go(func() { s.coverLater(g, pids) })
	}
	return nil
}

// coverLater covers more processes while the rings are read.
func (s *Session) coverLater(g *growth, pids []int) {
	err := s.cover(g, pids)
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	s.grow.next = g
	if err != nil {
		s.opts.logger().Warn("the copies of the stack stay small", "target", s.target.String(), "error", err)
		s.grow.next, s.grow.busy = nil, false
		if err := closeEvents(g.events); err != nil {
			s.opts.logger().Warn("new events were not closed", "error", err)
		}
	}
}

func (s *Session) beginGrowth(g *growth) error {
	s.grow.sets = append(s.grow.sets, &duplicates{ambiguous: g.ambiguous})
	g.set = int32(len(s.grow.sets))
	g.first = make(map[source]uint64)
	for _, e := range s.events {
		if g.changes(int(e.sampling)) && e.part != counts && e.part != theRest {
			g.old = append(g.old, e)
		}
	}
	for i := range g.events {
		g.events[i].set = g.set
	}
	s.beginApart(g)
	s.events = append(s.events, g.events...)
	s.grow.next, s.grow.now = nil, g
	s.nameEvents()
	s.compose()
	before, err := s.sum(g.old)
	if err != nil {
		return err
	}
	if s.grow.on {
		// Twice, for a thread that is just being born to one whose event was
		// not yet enabled, and that the first time does not see yet.
		for range 2 {
			if err := s.controlEvents(g.events, unix.PERF_EVENT_IOC_ENABLE); err != nil {
				return err
			}
		}
		quiesce(s.cpus)
	}
	if err := s.controlEvents(g.old, unix.PERF_EVENT_IOC_DISABLE); err != nil {
		return err
	}
	if err := s.stopPassing(g); err != nil {
		return err
	}
	if g.apart {
		s.opts.logger().Debug("hits are counted apart", "event", s.samplings[g.changing[0]].Event.String(), "filters", g.filters)
	}
	s.grow.ended = Now()
	s.grow.changes.Add(1)
	old, oldErr := s.sum(g.old)
	taken, err := s.sum(g.events)
	if err := errors.Join(oldErr, err); err != nil {
		return err
	}
	for _, i := range g.changing {
		if old[i].lost+taken[i].lost != before[i].lost {
			s.retire(i, count{}, true)
		}
	}
	return nil
}

func (s *Session) endGrowth() error {
	g := s.grow.now
	last, err := s.sum(g.old)
	if err != nil {
		return err
	}
	if err := s.endPassing(g); err != nil {
		return err
	}
	for _, i := range g.changing {
		s.retire(i, last[i], false)
	}
	var kept []attached
	for _, e := range s.events {
		if !g.changes(int(e.sampling)) || e.part == counts || e.part == theRest || e.set == g.set && e.part != passing {
			kept = append(kept, e)
		}
	}
	s.events = kept
	s.grow.now, s.grow.busy = nil, false
	// The kernel waits for all CPUs at each closing; the rings cannot.
	s.grow.closing.Go(func() {
		if err := closeEvents(g.old); err != nil {
			s.opts.logger().Warn("old events were not closed", "error", err)
		}
	})
	return nil
}

func (s *Session) retire(sampling int, c count, inexact bool) {
	if s.grow.retired == nil {
		s.grow.retired = make(map[int]retired)
	}
	r := s.grow.retired[sampling]
	r.add(c)
	r.inexact = r.inexact || inexact
	s.grow.retired[sampling] = r
}

// isDuplicate reports whether a wanted record has come by another way as well.
func (s *Session) isDuplicate(rec Record) bool {
	h := rec.Common()
	ev := s.dec.events.find(h.ID)
	sample, isSample := rec.(*Sample)
	d := &s.duplicates
	if ev != nil && ev.set > 0 {
		d = s.grow.sets[ev.set-1]
	}
	if d.ambiguous && d.seen(h, ev, isSample && s.samplings[sample.Sampling].isShared()) {
		return true
	}
	g := s.grow.now
	if g == nil || !isSample || ev == nil || !g.changes(sample.Sampling) {
		return false
	}
	at := source{sample.Sampling, sample.TID, sample.CPU}
	first, overlaps := g.first[at]
	if ev.set == g.set && !overlaps {
		g.first[at] = h.Time
	}
	return ev.set != g.set && overlaps && h.Time >= first
}

// sum adds up the counts of the events of each sampling.
func (s *Session) sum(events []attached) ([]count, error) {
	totals := make([]count, len(s.samplings))
	for i := range events {
		e := &events[i]
		c, err := s.bookedCount(e)
		if err != nil {
			return nil, err
		}
		totals[e.sampling].add(c)
	}
	return totals, nil
}

func (c *count) add(o count) {
	c.value += o.value
	c.lost += o.lost
	c.enabled += o.enabled
	c.running += o.running
}

// enter adds the counts of events to an account.
func (a *Account) enter(c count) {
	a.Counted += c.value
	a.Lost += c.lost
	a.Enabled += time.Duration(c.enabled)
	a.Running += time.Duration(c.running)
}

// closers is how many events are closed at a time.
const closers = 32

// closeEvents closes events, several at a time: the kernel lets all CPUs pass by
// for each that is of a user probe, which takes 10 to 100 ms.
func closeEvents(events []attached) error {
	errs := make([]error, closers)
	var wait sync.WaitGroup
	for i := range min(closers, len(events)) {
		wait.Go(func() {
			for j := i; j < len(events); j += closers {
				errs[i] = errors.Join(errs[i], unix.Close(events[j].fd))
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}
