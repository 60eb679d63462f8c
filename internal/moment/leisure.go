package moment

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// Switched tells of a sample whether it is of the thread that leaves a CPU there, and which
// thread goes on in its place: 0 if the sample does not say. It may be called from any goroutine.
type Switched func(s *perfevent.Sample) (leaves bool, next uint32)

// leisure reads the calls of threads that wait, on a thread of its own. It follows the session's rings, and reads the
// threads that have left their CPU and not gone on. Then it looks at the rings once more. A thread
// runs no user code before the kernel's record of the switch to it is in a ring: if there is none,
// though there was room and the samplings were on, the reading is exact.
type leisure struct {
	session  *perfevent.Session
	switched Switched
	rings    []*perfevent.CPURing
	waits    waits
	stacks   standing
	decoder  *perfevent.Decoder
	stale    bool          // it does not know all events
	since    uint64        // when the samplings were turned on
	kick     chan struct{} // there is another process to read
	stop     chan struct{}
	stopped  chan struct{}

	mu       sync.Mutex // of what follows
	changed  *sync.Cond // progress, or over
	targets  map[uint32]*reads
	news     []news // of their stacks
	held     int    // bytes of stacks in readings
	readings map[sampled]reading
	progress uint64 // waits that began before that time are known
	asked    uint64 // waits that began before that time have been asked for
	swept    uint64
	over     bool
}

// LookEvery is how often it is looked which threads wait. A wait that is shorter may be missed.
const LookEvery = 2 * time.Millisecond

// A look takes about 30 µs. While there is no process to read, one every idleEvery tells whether
// the rings have run over. All takes leisureShare of a CPU at most. Threads wait for the next look when
// all walks have taken roundTime.
const (
	idleEvery    = 20 * time.Millisecond
	leisureShare = 0.1
	roundTime    = 2 * time.Millisecond
)

// inTheMaking is how long before a look the kernel may have taken the time of a record that is
// not in its ring yet. More only makes that wait one without calls.
const inTheMaking = uint64(100 * time.Microsecond)

// leastRing is a ring of which it is known whether there was room for a record: see CPURing.Missing.
const leastRing = 2 * (perfevent.MaxUserStack + 4096)

var errSmallRings = fmt.Errorf("with rings below %d KiB it is not known which threads wait", leastRing>>10)

// newLeisure begins to follow the rings of a session. What it returns is to run.
func newLeisure(session *perfevent.Session, switched Switched) (*leisure, error) {
	l := &leisure{session: session, switched: switched, waits: newWaits(), stacks: newStanding(),
		kick: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{}),
		targets: make(map[uint32]*reads), readings: make(map[sampled]reading)}
	l.changed = sync.NewCond(&l.mu)
	var err error
	if l.decoder, err = perfevent.NewDecoder(session.Events()); err != nil {
		return nil, err
	}
	for _, file := range session.RingFiles() {
		if file.Bytes < leastRing {
			return nil, errors.Join(errSmallRings, l.unmap())
		}
		ring, err := perfevent.MapRing(file)
		if err != nil {
			return nil, errors.Join(err, l.unmap())
		}
		ring.Follow()
		l.rings = append(l.rings, ring)
	}
	return l, nil
}

// watch has the waits of a process read, also those that have begun already.
func (l *leisure) watch(p *process.Process, runtimes []*interp.Namer) error {
	t := newReads(p, runtimes)
	l.mu.Lock()
	defer l.mu.Unlock()
	if last := l.targets[uint32(p.PID)]; last != nil && last.process == p && last.asked > 0 && len(l.news)+len(last.wants) <= maxNews {
		l.news = append(l.news, last.wants...)
		t.asked, t.wants = last.asked, last.wants
	}
	return l.add(t)
}

// add adds a process to those that are read.
func (l *leisure) add(t *reads) error {
	pid := uint32(t.process.PID)
	if l.targets[pid] == nil && len(l.targets) >= maxWatched {
		return errTooMany
	}
	l.targets = maps.Clone(l.targets) // a round may be under way
	l.targets[pid] = t
	select {
	case l.kick <- struct{}{}:
	default:
	}
	return nil
}

func (l *leisure) unmap() (err error) {
	for _, ring := range l.rings {
		err = errors.Join(err, ring.Close())
	}
	l.rings = nil
	return err
}

func (l *leisure) close() error {
	close(l.stop)
	<-l.stopped
	return l.unmap()
}

// run looks and reads until that is stopped.
func (l *leisure) run() {
	defer close(l.stopped)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer goAhead()()
	ration := newRation(leisureShare)
	for {
		began := threadTime()
		reads := l.round()
		ration.earn(time.Now())
		ration.left -= threadTime() - began
		every := LookEvery
		if !reads {
			every = idleEvery
		}
		if l.rest(max(every, ration.due())) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.over = true
			l.changed.Broadcast()
			return
		}
	}
}

// rest waits for the next round, and reports true if there is none. A short while the kernel waits for:
// Go's timers are for threads that may have to wait for a CPU.
func (l *leisure) rest(d time.Duration) (stopped bool) {
	if d < idleEvery {
		t := unix.NsecToTimespec(int64(d))
		_ = unix.Nanosleep(&t, nil) // a signal ends it sooner
		select {
		case <-l.stop:
			return true
		default:
			return false
		}
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-l.stop:
		return true
	case <-timer.C:
	case <-l.kick:
	}
	return false
}

// round reads the threads that wait. It reports false if there is no process to read.
func (l *leisure) round() bool {
	l.mu.Lock()
	targets, news := l.targets, l.news
	l.news = nil
	l.waits.asked = l.asked
	l.mu.Unlock()
	l.waits.now = perfevent.Now()
	known := l.waits.now - inTheMaking
	if len(targets) == 0 {
		l.wait()
		return false
	}
	for _, n := range news {
		if t := targets[uint32(n.pid)]; t != nil {
			t.stacks.note(n)
		}
	}
	l.look()
	for pid, t := range targets {
		if t.isNew { // it changes on this goroutine only
			l.waits.want(pid)
		}
	}
	read := l.waits.take(func(w *wait) bool { return targets[w.pid].walk(w, &l.stacks) }, time.Now().Add(roundTime))
	if len(read) > 0 {
		l.look()
	}
	for _, w := range read {
		if w.state == isRead {
			w.reading.by.names.note(w.reading.calls.Chains)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range read {
		if w.state == isRead {
			l.keep(w.reading, w.samples)
			w.state = isKnown
		}
		w.reading = reading{} // a wait may be long
	}
	for _, t := range targets {
		t.isNew = false
	}
	l.progress = l.waits.known(known)
	l.changed.Broadcast()
	if known > l.swept+uint64(time.Second) {
		l.swept = known
		l.sweep()
	}
	return len(l.targets) > 0
}

// wait leaves in the rings what is new. If there is a process to read, it tells who waits by then.
func (l *leisure) wait() {
	for _, ring := range l.rings {
		if ring.Look(); ring.Missing() {
			l.waits.miss(perfevent.Now())
		}
	}
}

// look takes note of what is new in the rings.
func (l *leisure) look() {
	if l.stale {
		decoder, err := perfevent.NewDecoder(l.session.Events())
		if err != nil {
			return // nor was it when it began
		}
		l.decoder, l.stale = decoder, false
	}
	for _, ring := range l.rings {
		ring.Look()
		malformed := ring.Malformed()
		for b := ring.Next(); b != nil; b = ring.Next() {
			record, err := l.decoder.Decode(b)
			if err != nil && !errors.Is(err, perfevent.ErrUnknownRecord) {
				l.stale = true // it is of an event that was opened since
				continue
			}
			l.note(record)
		}
		if l.stale || ring.Missing() || ring.Malformed() > malformed {
			l.waits.miss(perfevent.Now())
		}
	}
	if since := l.session.EnabledSince(); since != l.since || since == 0 {
		l.since = since
		l.waits.miss(perfevent.Now())
	}
}

// note takes note of a record.
func (l *leisure) note(record perfevent.Record) {
	switch r := record.(type) {
	case *perfevent.Sample:
		leaves, next := l.switched(r)
		l.waits.ends(next, r.Time)
		if leaves {
			l.waits.begins(r.PID, sampled{r.CPU, r.TID, r.Time}, copiedOf(r))
		}
	case *perfevent.Switch:
		if !r.Out {
			l.waits.ends(r.TID, r.Time)
		}
	case *perfevent.Exit:
		l.waits.ends(r.TID, r.Time)
	case *perfevent.Lost, *perfevent.LostSamples, *perfevent.Throttle:
		l.waits.miss(r.Common().Time)
	}
}
