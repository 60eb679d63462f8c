package live

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// threadExclusion filters out, in the kernel, hits of threads that no clause at a source can want. It does so if
// hits come in storms and predicates compare pid or tid. No filter can compare the process ID of `pid == 7`, but
// each record has the thread ID, and a thread belongs to one process for as long as it lives:
//
//	hits → rounds: a window of hits → the threads with most of them that plan.Event.Who does not admit
//	     → Session.CountInKernel without filters: common_pid != 8 && common_pid != 9
//
// When a thread ends, the filter lets its ID pass again: another thread may get it.
type threadExclusion struct {
	rounds
	source   *source
	sampling int
	session  counter
	logger   *slog.Logger
	host     process.Host
	seen     map[thread]int

	mu      sync.Mutex // guards the fields below
	out     []thread   // the threads to exclude
	changed bool       // out, since the filter was last set
	asking  bool       // a goroutine sets the filter
	ended   bool       // the rings are not read any more
	refused bool       // the kernel does not take a longer filter
	asked   int        // how many times the filter was set
	// applied has the threads that the kernel excludes, or did until lately. The value is 0, or the time when
	// the filter let the thread pass again, CLOCK_MONOTONIC in nanoseconds.
	applied map[uint32]uint64
	work    sync.WaitGroup
}

// thread is a thread of a process.
type thread struct{ pid, tid uint32 }

// Bounds of the exclusion at a source.
const (
	maxOthers = 64                   // threads, each of which costs every hit a comparison
	maxAsked  = 1000                 // changes of the filter: perfevent keeps a little of each
	settled   = 1e9                  // nanoseconds after which a change has taken effect
	again     = 5 * time.Millisecond // pause before the next try if the session is still busy
)

// watchExclusions starts to look for storms at the sources where threads can be excluded.
func (f *feed) watchExclusions() {
	if !f.ofSystem() || f.options.Nested || f.equal.session == nil {
		return
	}
	for i, s := range f.sources {
		if s.repeats != nil || i < f.texted || !s.mayLeaveOut() {
			continue
		}
		s.exclusion = &threadExclusion{source: s, sampling: i, session: f.equal.session, logger: f.options.Logger, host: f.processes.Host(),
			seen: make(map[thread]int), applied: make(map[uint32]uint64)}
	}
}

// mayLeaveOut reports whether hits of threads can be excluded at a source.
func (s *source) mayLeaveOut() bool {
	return s.event.Who != nil && s.event.Place == plan.Tracepoint && !s.stacks.User && !s.readsMemory() && hasUnitWeight(s) &&
		s.probe.Record == nil && s.probe.Keep == nil
}

// look counts a hit, and excludes threads at the end of a window if it is a storm.
func (o *threadExclusion) look(sample *perfevent.Sample) {
	if !o.looks(sample.Time) {
		return
	}
	o.seen[thread{sample.PID, sample.TID}]++
	if o.hits < window {
		return
	}
	if o.isStorm() {
		o.leaveOut()
	}
	clear(o.seen)
}

// leaveOut excludes the threads with most hits of a window, unless clauses may want them.
func (o *threadExclusion) leaveOut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for t, times := range o.seen {
		if times < window/16 || o.refused || len(o.out) >= maxOthers || o.asked >= maxAsked || slices.Contains(o.out, t) ||
			o.source.event.Who.Admits(t.pid, t.tid) || !runs(o.host, t) {
			continue
		}
		o.out, o.changed = append(o.out, t), true
	}
	o.ask()
}

// runs reports whether a thread belongs to a process and has not begun to end, so that its EXIT
// record is still to come.
func runs(host process.Host, t thread) bool {
	if t.pid == 0 {
		return true // idle
	}
	stat, err := host.Stat(fmt.Sprintf("%d/task/%d", t.pid, t.tid))
	return err == nil && !stat.Ended() && !stat.Exiting()
}

// handle lets a thread ID pass again if another thread may have it, or has it. It reports whether hits of a new
// thread that clauses want may have been excluded.
func (o *threadExclusion) handle(record perfevent.Record) (hidden bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch r := record.(type) {
	case *perfevent.Exit:
		o.pass(func(t thread) bool { return t.tid == r.TID })
	case *perfevent.Comm:
		if r.Exec { // the thread has the first thread's ID now, and its own ID is free
			o.pass(func(t thread) bool { return t.pid == r.PID })
		}
	case *perfevent.Lost: // one of the above may be among them
		o.pass(func(thread) bool { return true })
	case *perfevent.Fork:
		at, known := o.applied[r.TID]
		o.pass(func(t thread) bool { return t.tid == r.TID })
		return known && (at == 0 || r.Time < at+settled) && o.source.event.Who.Admits(r.PID, r.TID)
	}
	return false
}

// pass lets the chosen threads pass again. The caller holds the lock.
func (o *threadExclusion) pass(chosen func(thread) bool) {
	before := len(o.out)
	o.out = slices.DeleteFunc(o.out, chosen)
	if len(o.out) != before {
		o.changed = true
		o.ask()
	}
}

// ask starts to set the filter if it has changed, unless a goroutine does already. The caller holds the lock.
func (o *threadExclusion) ask() {
	if !o.changed || o.asking {
		return
	}
	o.asking = true
	o.work.Go(func() {
		for o.askOnce() {
		}
	})
}

// askOnce sets the filter of the session, and reports whether it must be called again. The rings must be read
// meanwhile.
func (o *threadExclusion) askOnce() bool {
	o.mu.Lock()
	if !o.changed || o.ended {
		o.asking = false
		o.mu.Unlock()
		return false
	}
	o.changed = false
	rest := o.source.filtered(without(o.out))
	for _, t := range o.out {
		o.applied[t.tid] = 0
	}
	out := slices.Clone(o.out)
	o.mu.Unlock()
	err := o.session.CountInKernel(o.sampling, nil, rest)
	if errors.Is(err, perfevent.ErrGrowing) {
		time.Sleep(again) // the reader of the rings first completes an earlier change
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if errors.Is(err, perfevent.ErrGrowing) {
		o.changed = true
		return true
	}
	o.asked++
	switch {
	case err != nil:
		o.refused = true
		o.logger.Debug("no more threads are left out", "event", o.source.name, "error", err)
	default:
		o.logger.Debug("hits of threads are left out", "event", o.source.name, "threads", len(out))
		o.settle(out, perfevent.Now())
	}
	return true
}

// settle notes which threads the kernel excludes from now on.
func (o *threadExclusion) settle(out []thread, now uint64) {
	for tid, at := range o.applied {
		switch {
		case slices.ContainsFunc(out, func(t thread) bool { return t.tid == tid }):
		case at == 0:
			o.applied[tid] = now
		case at+10*settled < now:
			delete(o.applied, tid)
		}
	}
}

// without returns the filter that all hits pass except those of some threads.
func without(out []thread) string {
	conditions := []string{"common_pid >= 0"} // always true
	for _, t := range out {
		conditions = append(conditions, fmt.Sprintf("common_pid != %d", t.tid))
	}
	return strings.Join(conditions, " && ")
}

// handleExclusions passes a record that is not a hit to the exclusions of all sources.
func (f *feed) handleExclusions(record perfevent.Record) {
	for _, s := range f.sources {
		if s.exclusion != nil && s.exclusion.handle(record) {
			f.account.Hidden++
		}
	}
}

// endExclusions waits until no filter is being set.
func (f *feed) endExclusions() {
	for _, s := range f.sources {
		if o := s.exclusion; o != nil {
			o.mu.Lock()
			o.ended = true
			o.mu.Unlock()
			o.work.Wait()
		}
	}
}
