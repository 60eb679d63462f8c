package atsample

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
	"github.com/ringtap/ringtap/perfevent"
)

// A SwitchFunc reports whether s was taken as its thread left a CPU, and returns the thread that runs there next,
// or 0 if s does not say. It may be called from any goroutine.
type SwitchFunc func(s *perfevent.Sample) (leaves bool, next uint32)

// offCPUReader reads interpreter frames and stacks of threads that wait. It polls on a thread of its own: it
// decodes what is new in the session's rings, reads the threads that have left their CPU and not come back, and
// decodes the rings once more. The kernel writes the record of a switch before the thread runs user code. If
// there is no such record, although the ring had room and the samplings were on, the reading is exact.
type offCPUReader struct {
	session        *perfevent.Session
	switched       SwitchFunc
	rings          []*perfevent.CPURing
	waits          waitTracker
	stacks         waitingStacks
	decoder        *perfevent.Decoder
	isDecoderStale bool          // a record is of an event that decoder does not know
	enabledSince   uint64        // Session.EnabledSince at the last look
	wake           chan struct{} // ends the sleep: a process was added
	stop           chan struct{}
	stopped        chan struct{}

	mu             sync.Mutex // guards the fields below
	changed        *sync.Cond // signals a change of completeBefore or ended
	processes      map[uint32]*waitingProcess
	pending        []request // about the processes' stacks, for the next round
	heldBytes      int       // of stacks in readings
	readings       map[sampleKey]offCPUReading
	completeBefore uint64 // it is known which waits were read that began before this time
	askedUntil     uint64 // callers have asked for samples up to this time
	sweptAt        uint64
	ended          bool
}

// PollInterval is how often the off-CPU reader looks for threads that wait. Waits shorter than this may be missed.
const PollInterval = 2 * time.Millisecond

// A look takes about 30 µs. While no process is watched, the reader only checks every idleInterval whether a ring
// has overflowed. It uses offCPUShare of one CPU at most. After maxRoundTime of reading threads in one round, the
// rest are left to the next round.
const (
	idleInterval = 20 * time.Millisecond
	offCPUShare  = 0.1
	maxRoundTime = 2 * time.Millisecond
)

// recordDelay is how long it may take, in nanoseconds, from the time in a record until the record is in its ring.
// If it takes longer, the sample has no calls.
const recordDelay = uint64(100 * time.Microsecond)

// minRingBytes is the smallest ring for which CPURing.Missing knows whether there was room for each record.
const minRingBytes = 2 * (perfevent.MaxUserStack + 4096)

var errSmallRings = fmt.Errorf("with rings below %d KiB it is not known which threads wait", minRingBytes>>10)

// newOffCPUReader returns a reader that follows the session's rings. The caller starts run on a goroutine and
// stops it with close.
func newOffCPUReader(session *perfevent.Session, switched SwitchFunc) (*offCPUReader, error) {
	o := &offCPUReader{session: session, switched: switched, waits: newWaitTracker(), stacks: newWaitingStacks(),
		wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
		processes: make(map[uint32]*waitingProcess), readings: make(map[sampleKey]offCPUReading)}
	o.changed = sync.NewCond(&o.mu)
	var err error
	if o.decoder, err = perfevent.NewDecoder(session.Events()); err != nil {
		return nil, err
	}
	for _, file := range session.RingFiles() {
		if file.Bytes < minRingBytes {
			return nil, errors.Join(errSmallRings, o.unmap())
		}
		ring, err := perfevent.MapRing(file)
		if err != nil {
			return nil, errors.Join(err, o.unmap())
		}
		ring.Follow()
		o.rings = append(o.rings, ring)
	}
	return o, nil
}

// watch starts reading the waits of p, including those that have started. runtimes name its calls. Requests about
// the stacks of p stay in force.
func (o *offCPUReader) watch(p *process.Process, runtimes []*interp.Namer) error {
	w := newWaitingProcess(p, runtimes)
	o.mu.Lock()
	defer o.mu.Unlock()
	if old := o.processes[uint32(p.PID)]; old != nil && old.process == p && old.requestedAt > 0 && len(o.pending)+len(old.requests) <= maxPending {
		o.pending = append(o.pending, old.requests...)
		w.requestedAt, w.requests = old.requestedAt, old.requests
	}
	return o.add(w)
}

// add adds w to the processes that are read, or replaces the one with its PID. o.mu is held.
func (o *offCPUReader) add(w *waitingProcess) error {
	pid := uint32(w.process.PID)
	if o.processes[pid] == nil && len(o.processes) >= maxWatched {
		return errTooManyProcesses
	}
	o.processes = maps.Clone(o.processes) // a round may be using the old map
	o.processes[pid] = w
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return nil
}

// close stops run and unmaps the rings.
func (o *offCPUReader) close() error {
	close(o.stop)
	<-o.stopped
	return o.unmap()
}

func (o *offCPUReader) unmap() (err error) {
	for _, ring := range o.rings {
		err = errors.Join(err, ring.Close())
	}
	o.rings = nil
	return err
}

// run polls until close is called.
func (o *offCPUReader) run() {
	defer close(o.stopped)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer raisePriority()()
	budget := newCPUBudget(offCPUShare)
	for {
		start := threadCPUTime()
		isBusy := o.round()
		budget.earn(time.Now())
		budget.remaining -= threadCPUTime() - start
		interval := PollInterval
		if !isBusy {
			interval = idleInterval
		}
		if o.sleep(max(interval, budget.untilEarned())) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.ended = true
			o.changed.Broadcast()
			return
		}
	}
}

// niceBoost is how much run lowers the nice value of its thread. On a busy host the thread would otherwise wait
// for a CPU longer than most threads wait for what they need. It is not lowered further because run may need
// a thread that has not been boosted, such as one that holds a lock of Go's runtime.
const niceBoost = 10

// raisePriority lowers the nice value of the calling thread by niceBoost until restore is called. The goroutine
// must be locked to its thread. Without CAP_SYS_NICE the nice value stays as it is.
func raisePriority() (restore func()) {
	priority, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return func() {}
	}
	nice := 20 - priority // the system call returns 20 minus the nice value: getpriority(2)
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, nice-niceBoost)
	return func() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, nice) }
}

// sleep sleeps for d, or until close or add is called if d is at least idleInterval. It reports whether close was
// called. It calls nanosleep(2) for short times because Go's timers are late when no CPU is idle.
func (o *offCPUReader) sleep(d time.Duration) (stopped bool) {
	if d < idleInterval {
		t := unix.NsecToTimespec(int64(d))
		_ = unix.Nanosleep(&t, nil) // a signal only makes the sleep shorter
		select {
		case <-o.stop:
			return true
		default:
			return false
		}
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-o.stop:
		return true
	case <-timer.C:
	case <-o.wake:
	}
	return false
}

// round reads the threads that wait. It reports whether a process is watched.
func (o *offCPUReader) round() bool {
	o.mu.Lock()
	processes, pending := o.processes, o.pending
	o.pending = nil
	o.waits.askedUntil = o.askedUntil
	o.mu.Unlock()
	o.waits.now = perfevent.Now()
	settled := o.waits.now - recordDelay
	if len(processes) == 0 {
		o.checkRings()
		return false
	}
	for _, req := range pending {
		if p := processes[uint32(req.pid)]; p != nil {
			p.stacks.apply(req)
		}
	}
	o.readRecords()
	for pid, p := range processes {
		if p.isNew { // only this goroutine clears isNew
			o.waits.watch(pid)
		}
	}
	walked := o.waits.readQueued(func(w *wait) bool { return processes[w.pid].walk(w, &o.stacks) }, time.Now().Add(maxRoundTime))
	if len(walked) > 0 {
		o.readRecords()
	}
	for _, w := range walked {
		if w.state == waitRead {
			w.reading.process.namers.nameCalls(w.reading.calls.Chains)
		}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range walked {
		if w.state == waitRead {
			o.store(w.reading, w.samples)
			w.state = waitConfirmed
		}
		w.reading = offCPUReading{} // frees its pages: the wait may be long
	}
	for _, p := range processes {
		p.isNew = false
	}
	o.completeBefore = o.waits.completeBefore(settled)
	o.changed.Broadcast()
	if settled > o.sweptAt+uint64(time.Second) {
		o.sweptAt = settled
		o.sweep()
	}
	return len(o.processes) > 0
}

// checkRings checks whether a ring has overflowed, and decodes nothing. The records stay in the rings, so that
// they say who waits once a process is watched.
func (o *offCPUReader) checkRings() {
	for _, ring := range o.rings {
		if ring.Look(); ring.Missing() {
			o.waits.markMissing(perfevent.Now())
		}
	}
}

// readRecords decodes the new records of all rings.
func (o *offCPUReader) readRecords() {
	if o.isDecoderStale {
		decoder, err := perfevent.NewDecoder(o.session.Events())
		if err != nil {
			return // does not happen, because it worked in newOffCPUReader
		}
		o.decoder, o.isDecoderStale = decoder, false
	}
	for _, ring := range o.rings {
		ring.Look()
		malformed := ring.Malformed()
		for raw := ring.Next(); raw != nil; raw = ring.Next() {
			record, err := o.decoder.Decode(raw)
			if err != nil && !errors.Is(err, perfevent.ErrUnknownRecord) {
				o.isDecoderStale = true // the event was opened since
				continue
			}
			o.handleRecord(record)
		}
		if o.isDecoderStale || ring.Missing() || ring.Malformed() > malformed {
			o.waits.markMissing(perfevent.Now())
		}
	}
	if enabled := o.session.EnabledSince(); enabled != o.enabledSince || enabled == 0 {
		o.enabledSince = enabled
		o.waits.markMissing(perfevent.Now())
	}
}

// handleRecord updates o.waits by one record.
func (o *offCPUReader) handleRecord(record perfevent.Record) {
	switch r := record.(type) {
	case *perfevent.Sample:
		leaves, next := o.switched(r)
		o.waits.switchIn(next, r.Time)
		if leaves {
			o.waits.switchOut(r.PID, sampleKey{r.CPU, r.TID, r.Time}, copyOf(r))
		}
	case *perfevent.Switch:
		if !r.Out {
			o.waits.switchIn(r.TID, r.Time)
		}
	case *perfevent.Exit:
		o.waits.switchIn(r.TID, r.Time)
	case *perfevent.Lost, *perfevent.LostSamples, *perfevent.Throttle:
		o.waits.markMissing(r.Common().Time)
	}
}
