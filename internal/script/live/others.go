package live

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/script/plan"
	"github.com/ringtap/ringtap/perfevent"
)

// others has the kernel leave out hits of threads that no clause at a source can want: where hits
// come in storms, and predicates say whose they must be. No record has the number of the process that
// `pid == 7` asks for, but it has that of the thread, which belongs to one process for as long as it
// lives:
//
//	hits → rounds: a window of them → threads of most, that plan.Event.Who does not admit
//	     → Session.CountApart without filters: common_pid != 8 && common_pid != 9
//
// When a thread ends, its hits are wanted again: another one may get its number.
type others struct {
	rounds
	source   *source
	sampling int
	session  counter
	logger   *slog.Logger
	host     process.Host
	seen     map[thread]int

	mu      sync.Mutex // of what follows
	out     []thread   // that the kernel is to leave out
	changed bool       // since it was asked
	asking  bool
	ended   bool // the rings are not read any more
	refused bool // the kernel does not leave out more
	asked   int
	// The threads that the kernel leaves out, or did a moment ago: those that have ended with the time
	// when it was asked to let them pass, CLOCK_MONOTONIC, else with 0.
	applied map[uint32]uint64
	work    sync.WaitGroup
}

// thread is a thread of a process.
type thread struct{ pid, tid uint32 }

// Bounds of what is left out at a source.
const (
	maxOthers = 64                   // threads, each of which costs every hit a comparison
	maxAsked  = 1000                 // changes, each of which perfevent keeps something of
	settled   = 1e9                  // nanoseconds after which a change has taken effect
	again     = 5 * time.Millisecond // after which the session is asked once more
)

// watchOthers has the sources looked at of which hits can be left out.
func (f *feed) watchOthers() {
	if !f.ofSystem() || f.options.Nested || f.apart.session == nil {
		return
	}
	for i, s := range f.sources {
		if s.repeats != nil || i < f.texted || !s.mayLeaveOut() {
			continue
		}
		s.others = &others{source: s, sampling: i, session: f.apart.session, logger: f.options.Logger, host: f.processes.Host(),
			seen: make(map[thread]int), applied: make(map[uint32]uint64)}
	}
}

// mayLeaveOut tells whether hits of threads can be left out.
func (s *source) mayLeaveOut() bool {
	return s.event.Who != nil && s.event.Place == plan.Tracepoint && !s.stacks.User && !s.readsMemory() && unweighted(s) &&
		s.probe.Record == nil && s.probe.Keep == nil
}

// look looks at a hit.
func (o *others) look(sample *perfevent.Sample) {
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

// leaveOut leaves out the threads that most hits of a window were of, unless clauses may want them.
func (o *others) leaveOut() {
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

// exiting is the flag of a thread that has begun to end (PF_EXITING).
const exiting = 0x4

// runs tells whether a thread belongs to a process and its end is yet to come, and with it the record
// of that.
func runs(host process.Host, t thread) bool {
	if t.pid == 0 {
		return true // idle
	}
	text, err := host.Read(int(t.pid), fmt.Sprintf("task/%d/stat", t.tid))
	if err != nil {
		return false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	const state, flags = 0, 6
	if len(fields) <= flags || bytes.ContainsAny(fields[state], "ZX") {
		return false
	}
	n, err := strconv.ParseUint(string(fields[flags]), 10, 32)
	return err == nil && n&exiting == 0
}

// handle lets hits of threads pass again whose number another thread may have, or has. It tells
// whether hits of a new thread may have been left out that clauses want.
func (o *others) handle(record perfevent.Record) (hidden bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch r := record.(type) {
	case *perfevent.Exit:
		o.pass(func(t thread) bool { return t.tid == r.TID })
	case *perfevent.Comm:
		if r.Exec { // the thread has the number of the first one now, and its own is free
			o.pass(func(t thread) bool { return t.pid == r.PID })
		}
	case *perfevent.Lost: // such a record may be among them
		o.pass(func(thread) bool { return true })
	case *perfevent.Fork:
		at, known := o.applied[r.TID]
		o.pass(func(t thread) bool { return t.tid == r.TID })
		return known && (at == 0 || r.Time < at+settled) && o.source.event.Who.Admits(r.PID, r.TID)
	}
	return false
}

// pass lets hits of threads pass again. The caller holds the lock.
func (o *others) pass(chosen func(thread) bool) {
	before := len(o.out)
	o.out = slices.DeleteFunc(o.out, chosen)
	if len(o.out) != before {
		o.changed = true
		o.ask()
	}
}

// ask begins to ask the session, unless that is under way. The caller holds the lock.
func (o *others) ask() {
	if !o.changed || o.asking {
		return
	}
	o.asking = true
	o.work.Go(func() {
		for o.askOnce() {
		}
	})
}

// askOnce asks the session to leave out the threads, and tells whether it must be asked again. The rings
// must be read meanwhile.
func (o *others) askOnce() bool {
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
	err := o.session.CountApart(o.sampling, nil, rest)
	if errors.Is(err, perfevent.ErrGrowing) {
		time.Sleep(again) // the reader ends the change before
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

// settle notes what the kernel leaves out from now on.
func (o *others) settle(out []thread, now uint64) {
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

// without is the filter of all hits but those of threads.
func without(out []thread) string {
	conditions := []string{"common_pid >= 0"} // which is so
	for _, t := range out {
		conditions = append(conditions, fmt.Sprintf("common_pid != %d", t.tid))
	}
	return strings.Join(conditions, " && ")
}

// handleOthers has the sources take a record that is no hit.
func (f *feed) handleOthers(record perfevent.Record) {
	for _, s := range f.sources {
		if s.others != nil && s.others.handle(record) {
			f.account.Hidden++
		}
	}
}

// endOthers waits for what the session is asked.
func (f *feed) endOthers() {
	for _, s := range f.sources {
		if o := s.others; o != nil {
			o.mu.Lock()
			o.ended = true
			o.mu.Unlock()
			o.work.Wait()
		}
	}
}
