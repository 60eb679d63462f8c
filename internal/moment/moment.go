package moment

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/interp"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/perfevent/near"
)

// Bounds of a helper: see near.Options.
const (
	visitBytes = 48 << 10
	// A sample costs the reader of its CPU 20 to 120 µs, the more the fewer there are. It may
	// take twice what is usual, and never more than a tenth of a CPU.
	aSample    = 80e-6
	leastShare = 0.02
	mostShare  = 0.1
	// Rate is how many samples a second a Reader may visit on a CPU.
	Rate = mostShare / aSample
)

// maxWatched bounds the processes whose interpreters are read at a time. The helper frees no
// memory, and takes about 150 KB for each process: after maxEnded that have ended, another one
// follows it.
const (
	maxWatched = 256
	maxEnded   = 250
)

// errTooMany is why those of others are missing.
var errTooMany = fmt.Errorf("interpreters of %d processes are read, and of no more", maxWatched)

// maxReadings bounds the readings that nobody has asked for.
const maxReadings = 1 << 16

// patience is how long after a sample its reading is waited for.
const patience = 2 * time.Second

// Calls are the calls of interpreted code in the thread of a sample.
type Calls struct {
	Kind   near.Kind // None: Chains is empty
	Chains []Chain
}

// Reader has the calls of the samples of a session. The helper begins with the first process
// that is watched.
type Reader struct {
	session *perfevent.Session
	share   float64  // 0: no samples are visited
	leisure *leisure // nil: none begin a wait
	log     *slog.Logger

	ready    sync.WaitGroup // of watches under way
	mu       sync.Mutex     // of what follows
	changed  *sync.Cond     // progress, or over
	helper   *near.Reader   // nil: it has not begun
	cancel   func()         // of its Read
	attached int            // processes that it was told of
	most     int            // maxEnded
	watched  map[int]*target
	readings map[sampled]Calls
	progress uint64 // readings of samples before that time have come
	swept    uint64 // when the watched were looked after
	over     bool   // no readings come any more
	why      error  // there are none, or no more
	closed   bool
}

// target is a process that is watched.
type target struct {
	process *process.Process
	since   uint64          // when it is; 0: not yet
	threads map[uint32]bool // that were seen, of one in another pid namespace
}

// sampled is which sample a reading is of.
type sampled struct {
	cpu, tid uint32
	time     uint64
}

// New makes a Reader of a session's samples. Those that come so many times a second on each CPU
// are visited; then the session must be as near.StartBeside wants it. With 0 there are none.
// Those that begin a wait are read at leisure; switched is nil where there are none.
func New(session *perfevent.Session, frequency uint64, switched Switched, log *slog.Logger) *Reader {
	r := &Reader{session: session, log: log, most: maxEnded, watched: make(map[int]*target), readings: make(map[sampled]Calls)}
	if frequency > 0 {
		r.share = max(leastShare, min(mostShare, float64(frequency)*aSample))
	}
	if switched != nil {
		r.leisure, r.why = newLeisure(session, switched)
	}
	r.changed = sync.NewCond(&r.mu)
	return r
}

// Watch has the samples of a process read, which has such runtimes. They are visited from some
// milliseconds later on: see Wait.
func (r *Reader) Watch(p *process.Process, runtimes []interp.Runtime) {
	if r.leisure != nil {
		if err := r.leisure.watch(p, runtimes); err != nil {
			r.fail(p.PID, err)
		}
	}
	if r.share > 0 {
		r.visit(p)
	}
}

// fail notes why the calls of a process are missing.
func (r *Reader) fail(pid int, err error) {
	r.log.Info("interpreted functions are not read", "pid", pid, "error", err)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.why == nil {
		r.why = err
	}
}

// visit has the samples of a process visited.
func (r *Reader) visit(p *process.Process) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.watched[p.PID]; r.over || r.closed || t != nil && t.process == p {
		return
	}
	if len(r.watched) >= maxWatched {
		if r.why == nil {
			r.why = errTooMany
		}
		return
	}
	t := &target{process: p}
	if p.NSPID != p.PID {
		t.threads = make(map[uint32]bool)
	}
	again := r.watched[p.PID] != nil
	r.watched[p.PID] = t
	r.ready.Go(func() { r.watch(t, again) })
}

// Wait returns when the processes are watched that Watch was called for.
func (r *Reader) Wait() { r.ready.Wait() }

// watch is the part of Watch that takes long. A helper may be followed by another one meanwhile,
// which is then told the same.
func (r *Reader) watch(t *target, again bool) {
	pid := t.process.PID
	for {
		helper, err := r.ask(pid)
		if err == nil {
			err = tellOf(helper, pid, again)
		}
		if r.settle(t, helper, err) {
			return
		}
	}
}

// tellOf has a helper watch a process, which is another program now if it is watched again.
func tellOf(helper *near.Reader, pid int, again bool) error {
	if again {
		if err := helper.Unwatch(pid); err != nil {
			return err
		}
	}
	if err := helper.Watch(pid); err != nil {
		return err
	}
	return helper.Tell(tell(attachTo, pid))
}

// settle ends a watch, unless its helper is no longer the one that is asked.
func (r *Reader) settle(t *target, helper *near.Reader, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case helper != nil && helper != r.helper:
		return false
	case err == nil:
		t.since = perfevent.Now()
	case errors.Is(err, unix.ESRCH), errors.Is(err, perfevent.ErrNoTarget):
	default:
		r.log.Info("interpreted functions are not read", "pid", t.process.PID, "error", err)
		if r.why == nil {
			r.why = err
		}
	}
	return true
}

// ask returns the helper that is to be told of a process more. It begins with the first, and
// when it has kept the memory of many that have ended.
func (r *Reader) ask(pid int) (*near.Reader, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.attached++; r.helper != nil && r.attached > len(r.watched)+r.most {
		if err := r.replace(); err != nil {
			return nil, err
		}
	}
	switch {
	case r.helper != nil:
		return r.helper, nil
	case r.closed:
		return nil, context.Canceled
	}
	return r.start(pid)
}

// replace ends the helper, and has what it watched watched by the next one.
func (r *Reader) replace() error {
	helper, cancel := r.helper, r.cancel
	r.helper, r.attached = nil, 1
	for _, t := range r.watched {
		if t.since > 0 {
			t.since = 0
			r.ready.Go(func() { r.watch(t, false) })
		}
	}
	r.mu.Unlock()
	defer r.mu.Lock()
	cancel()
	return helper.Close()
}

// start starts the helper, with a process to watch.
func (r *Reader) start(pid int) (*near.Reader, error) {
	helper, err := near.StartBeside(r.session, pid, Visitor, nil, near.Options{
		VisitBytes: visitBytes, Share: r.share, Round: r.advance, Logger: r.log})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	r.helper = helper
	r.cancel = func() {
		cancel()
		<-done
	}
	go func() {
		defer close(done)
		err := helper.Read(ctx, r.take)
		r.mu.Lock()
		defer r.mu.Unlock()
		if helper != r.helper {
			return // another one has followed it
		}
		r.over = true
		if err != nil {
			r.why = err
		}
		r.changed.Broadcast()
	}()
	return helper, nil
}

// take keeps a reading.
func (r *Reader) take(reading *near.Reading) error {
	c := Calls{Kind: reading.Verdict.Kind}
	if c.Kind != near.None {
		var ok bool
		if c.Chains, ok = parse(reading.Data); !ok {
			c = Calls{}
		}
	} else {
		r.log.Debug("no interpreted functions", "tid", reading.TID, "reason", reading.Verdict.Reason)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.readings) >= maxReadings {
		clear(r.readings)
	}
	r.readings[sampled{uint32(reading.CPU), reading.TID, reading.Time}] = c
	return nil
}

// advance is of near.Options.Round.
func (r *Reader) advance(before uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.progress = before
	if now := perfevent.Now(); now > r.swept+uint64(time.Second) {
		r.swept = now
		r.sweep()
	}
	r.changed.Broadcast()
}

// sweep forgets processes that have ended.
func (r *Reader) sweep() {
	if r.helper == nil {
		return
	}
	for pid, t := range r.watched {
		if t.since == 0 || unix.Kill(pid, 0) != unix.ESRCH {
			continue
		}
		delete(r.watched, pid)
		if err := errors.Join(r.helper.Unwatch(pid), r.helper.Tell(tell(forget, pid))); err != nil {
			r.log.Info("a process that has ended is still watched", "pid", pid, "error", err)
		}
	}
}

// At returns the calls of interpreted code that the thread of a sample was in. It waits for
// them, and returns each once.
func (r *Reader) At(s *perfevent.Sample) Calls {
	if r.leisure != nil {
		if leaves, _ := r.leisure.switched(s); leaves {
			return r.leisure.at(s)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.watched[int(s.PID)]
	if t == nil {
		return r.pop(s)
	}
	if t.since == 0 || s.Time < t.since {
		return Calls{}
	}
	if t.threads != nil && !t.threads[s.TID] && r.helper != nil {
		t.threads[s.TID] = true
		_ = r.helper.Tell(tell(threadsOf, int(s.PID))) // one that has ended says so by Read
	}
	for !r.over && t.since > 0 && r.progress <= s.Time && perfevent.Now() < s.Time+uint64(patience) {
		r.changed.Wait()
	}
	return r.pop(s)
}

// pop takes the reading of a sample.
func (r *Reader) pop(s *perfevent.Sample) Calls {
	at := sampled{s.CPU, s.TID, s.Time}
	c := r.readings[at]
	delete(r.readings, at)
	return c
}

// Rung is the lowest way that a thread of the helper runs in, and false if there is none.
func (r *Reader) Rung() (lowest near.Rung, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.helper == nil {
		return 0, false
	}
	lowest = near.FIFO
	for _, a := range r.helper.Accounts() {
		lowest = min(lowest, a.Rung)
	}
	return lowest, true
}

// Err is why calls are missing; nil if nothing is wrong.
func (r *Reader) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.why
}

// Close ends the helper, and what reads at leisure. The session must still be open.
func (r *Reader) Close() (err error) {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.ready.Wait()
	if r.leisure != nil {
		err = r.leisure.close()
	}
	if r.helper == nil {
		return err
	}
	r.cancel()
	return errors.Join(err, r.helper.Close())
}
