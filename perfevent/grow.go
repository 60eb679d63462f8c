package perfevent

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	perf "github.com/elastic/go-perf"
	"golang.org/x/sys/unix"
)

// ErrGrowing is returned while an earlier GrowStack, SetWakeupEvents or CountInKernel of the
// session is under way.
var ErrGrowing = errors.New("a copy of the stack is growing already")

// GrowStack changes Sampling.UserStack of samplings to bytes, which may be more or less than
// before. The change takes effect at about the next look at the rings. No hit is missed or
// handed on twice. GrowStack may be called while Read runs, even from the function that Read
// calls. It takes as long as Open. Samplings that have this size already do not change.
//
// Hits that are recorded twice during the change count as Account.Duplicates. If records are
// lost during the change, the Account is no longer Exact.
//
// Only tracepoints and uprobes with a Period of 1 can change, since only their records come
// in a known order; for other events the error is ErrInvalid. It is ErrGrowing while an
// earlier change is under way, for about half a second, and an *OpenError if the events
// cannot be opened. An error changes nothing.
func (s *Session) GrowStack(bytes uint32, samplings ...int) error {
	return s.change(fmt.Sprintf("copy %d bytes of stack", bytes), samplings, func(sampling *Sampling) { sampling.UserStack = bytes })
}

// SetWakeupEvents changes Sampling.WakeupEvents of samplings while Read runs, under the same
// conditions and with the same errors as GrowStack. A wakeup takes longer than a sample, so a
// frequent event should not wake its reader each time. A prime number avoids always waking at
// the same step of a program that repeats itself.
func (s *Session) SetWakeupEvents(samples uint32, samplings ...int) error {
	return s.change(fmt.Sprintf("wake at every %d samples", samples), samplings, func(sampling *Sampling) { sampling.WakeupEvents = samples })
}

// change applies to to samplings. The layout of their samples must stay the same. action
// describes the change in errors.
func (s *Session) change(action string, samplings []int, to func(*Sampling)) error {
	larger, changing, err := s.reserve(samplings, to)
	if len(changing) == 0 {
		return err
	}
	g, err := s.openGrowth(changing, larger)
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	if err != nil {
		s.grow.busy = false
		return fmt.Errorf("%s: %w", action, err)
	}
	s.grow.samplings = larger
	s.grow.next = g
	s.poll.wake()
	return nil
}

// Grown reports whether every sample whose Header.Time is at least from carries as many bytes of
// the stack as the last GrowStack requested.
func (s *Session) Grown(from uint64) bool {
	s.grow.mu.Lock()
	defer s.grow.mu.Unlock()
	return (!s.grow.busy || s.grow.now != nil) && from >= s.grow.ended
}

// reserve returns all samplings after a change, and the indexes of those that change. If there
// are any, it prevents other changes until this one ends.
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

// now returns the samplings with all changes so far. The caller holds s.grow.mu.
func (s *Session) now() []Sampling {
	if s.grow.samplings != nil {
		return s.grow.samplings
	}
	return s.samplings
}

// Changes returns how often GrowStack, SetWakeupEvents or CountInKernel have replaced events.
// The new events have new ids: see Events. Changes may be called at any time.
func (s *Session) Changes() int { return int(s.grow.changes.Load()) }

// openGrowth opens the new events of a change, disabled. It opens them with a temporary
// Session that has the same target and rings.
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

// growing is a session's state of changes to its samplings.
type growing struct {
	changes atomic.Int32 // growths that have begun

	mu        sync.Mutex // guards the fields below, and Session.events after Open
	on        bool       // the samplings are enabled
	busy      bool       // from the opening of new events to the closing of old ones
	next      *growth    // opened, not begun
	samplings []Sampling // with all changes; nil before the first
	ended     uint64     // when the last growth had disabled the old events, in nanoseconds

	// Only the reader uses these until Read has returned.
	now     *growth       // begun, not ended
	sets    []*duplicates // for the new events of each growth; eventInfo.set is the index plus 1
	retired map[int]retired
	closing sync.WaitGroup // goroutines that close old events or open more new ones
}

// retired has the counts of a sampling's closed events, for its account.
type retired struct {
	count
	inexact bool // records were lost while old and new events ran
}

// growth is one change of samplings, such as to a larger copy of the stack.
//
// An open event's settings are fixed. So the session opens a second set of events, enables
// them while the old ones still run, and then disables the old ones. A hit in between makes
// two records, and the new event's comes first: the kernel inserts a new event before the old
// ones, both in a CPU's list of a tracepoint's events (perf_trace_add) and in a uprobe's list
// of consumers (consumer_add). So a thread's old records on a CPU are duplicates from the time
// of its first new record there. Earlier ones are not. This holds for each thread, CPU and
// sampling separately, because their events are enabled at different times.
//
// A hit that is under way when the new events are enabled reaches only the old ones. They must
// run until it has been handled: see quiesce.
//
// An event may count a hit but be disabled before it records the hit. The new event records
// it, so no hit is missing. But Counted is then one above the sum of the other numbers (seen
// once in thirty growths).
type growth struct {
	changing  []int      // indexes of the samplings that change
	larger    []Sampling // all samplings of the session, after the change
	events    []attached
	inKernel  bool   // CountInKernel made the change
	filters   int    // number of its filters
	origins   int32  // one more than the highest origin of events
	pids      []int  // processes that have events of their own
	opened    uint64 // when all events were open, in nanoseconds
	ambiguous bool   // late threads were found: see duplicates

	set   int32
	old   []attached
	first map[source]uint64 // times of the first new records
}

// source is a thread on a CPU, for one sampling.
type source struct {
	sampling int
	tid, cpu uint32
}

// changes reports whether the events of a sampling are replaced.
func (g *growth) changes(sampling int) bool { return slices.Contains(g.changing, sampling) }

// changeStacks begins a growth that is ready, or ends one when all records of the old events
// have been handed on. It is called between two looks at the rings.
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
	case s.merge.bound > s.grow.next.opened: // all births before opened are known
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

// coverLater opens a growth's events on more processes. It runs on its own goroutine while the
// rings are read.
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
		if g.changes(int(e.sampling)) && e.part != counts && e.part != rejected {
			g.old = append(g.old, e)
		}
	}
	for i := range g.events {
		g.events[i].set = g.set
	}
	s.beginKernelCounts(g)
	s.events = append(s.events, g.events...)
	s.grow.next, s.grow.now = nil, g
	s.nameEvents()
	s.compose()
	before, err := s.sum(g.old)
	if err != nil {
		return err
	}
	if s.grow.on {
		// Twice: a thread that is being born may have inherited an event that was still
		// disabled, and the first request may not reach its copy.
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
	if g.inKernel {
		s.opts.logger().Debug("hits are counted in the kernel", "event", s.samplings[g.changing[0]].Event.String(), "filters", g.filters)
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
		if !g.changes(int(e.sampling)) || e.part == counts || e.part == rejected || e.set == g.set && e.part != passing {
			kept = append(kept, e)
		}
	}
	s.events = kept
	s.grow.now, s.grow.busy = nil, false
	// The kernel waits for all CPUs at each close, and the rings must be read meanwhile.
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

// closers is how many events are closed at a time.
const closers = 32

// closeEvents closes events, several at a time: to close an event of a user probe, the kernel
// waits for all CPUs, which takes 10 to 100 ms.
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

// children are the living child processes that have inherited the target's events, by process
// id, according to the records read so far.
type children map[uint32]child

// child is one process.
type child struct {
	born    uint64 // nanoseconds
	threads int    // that live
}

// followChildren is the stage that notes the births and ends of children. All records
// come from processes that have the events.
func (s *Session) followChildren(rec Record) Record {
	c := s.children
	switch r := rec.(type) {
	case *Fork:
		if r.PID != r.PPID {
			c[r.PID] = child{born: r.Time, threads: 1}
		} else if p, ok := c[r.PID]; ok {
			p.threads++
			c[r.PID] = p
		}
	case *Exit:
		if p, ok := c[r.PID]; ok {
			if p.threads--; p.threads > 0 {
				c[r.PID] = p
			} else {
				delete(c, r.PID)
			}
		}
	}
	return rec
}

// uncovered returns the processes that were born before all events of the growth were open.
// They may lack some of the events.
func (g *growth) uncovered(c children) []int {
	var pids []int
	for pid, p := range c {
		if p.born <= g.opened && !slices.Contains(g.pids, int(pid)) {
			pids = append(pids, int(pid))
		}
	}
	return pids
}

// cover opens a growth's events on more processes. If a process has inherited some of them,
// its hits are recorded twice, and the duplicates are dropped.
func (s *Session) cover(g *growth, pids []int) error {
	for _, pid := range pids {
		o := s.growthSession(g)
		o.target.pids = []int{pid}
		o.watched = []watched{{pid: pid, tid: pid, pidfd: -1}}
		err := o.attachThreads()
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return errors.Join(err, closeEvents(o.events))
		}
		for i := range o.events {
			o.events[i].origin += g.origins
		}
		g.add(o.events)
		g.pids = append(g.pids, pid)
	}
	g.ambiguous = true
	g.opened = Now()
	return nil
}

// add adds events to the growth.
func (g *growth) add(events []attached) {
	for _, e := range events {
		g.origins = max(g.origins, e.origin+1)
	}
	g.events = append(g.events, events...)
}

// quiesce waits until all hits of tracepoints that are under way on the CPUs have been handled.
// The kernel handles a hit event by event, with preemption disabled. A long interrupt between
// two events may last while new events are enabled and old ones disabled: neither would see
// the hit. When a thread has run on a CPU, no earlier hit is under way there.
//
// A CPU that is offline, or that this process may not use, is skipped.
func quiesce(cpus []int) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := newRealtime()
		var own unix.CPUSet
		if unix.SchedGetaffinity(0, &own) != nil {
			r.leave()
			return
		}
		for _, cpu := range cpus {
			var one unix.CPUSet
			one.Set(cpu)
			_ = unix.SchedSetaffinity(0, &one)
		}
		if unix.SchedSetaffinity(0, &own) == nil {
			r.leave()
		} // else the thread stays locked and ends here
	}()
	<-done
}
