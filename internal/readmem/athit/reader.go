package athit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/perfevent"
)

// Options configure a Reader.
type Options struct {
	// share is the part of each CPU that the helper may use. 0 means 0.1, which is enough for about 4,500 hits
	// a second and CPU. A user who asks for texts wants them, so it is more than the helper's own default.
	share  float64
	Host   process.Host // whose processes are read late
	Logger *slog.Logger // nil discards
}

const defaultShare = 0.1

// maxVisit bounds the time that the helper reads at a hit: a page that is not in memory has to be read from disk.
const maxVisit = 2 * time.Millisecond

// Reader reads what the pointers of hits lead to. Seen and Take may be called on different goroutines. Helper,
// Rests and Close may be called on a nil Reader.
type Reader struct {
	events   []Event // by sampling of the session
	opts     Options
	helper   atomic.Pointer[helperReader] // nil until Start, and if the helper has nothing to read
	progress Progress                     // of the helper's readings, for Take
	now      func() uint64                // CLOCK_MONOTONIC in nanoseconds

	mu       sync.Mutex
	programs programs
	arrivals
	matcher matcher
	before  uint64 // all readings of samples before this time have arrived
	ended   bool   // no more readings arrive
	err     error  // of the helper's Read
}

// helperReader is a helper that runs.
type helperReader struct {
	*helper.Reader
	samplings []int // by sampling of the session: the helper's, or -1
	stop      context.CancelFunc
	done      chan struct{} // closed when Read has returned
}

// New returns a Reader for a session. events[i] belongs to the session's sampling i. Until Start, there is no
// helper.
func New(events []Event, opts Options) *Reader {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	return &Reader{
		events: events, opts: opts, progress: NewProgress(),
		now: perfevent.Now, arrivals: arrivals{pending: make(map[sampleKey]*arrival), last: make(map[uint32]*arrival), fixed: make(map[uint32]*readOnly)},
		matcher: matcher{threads: make(map[thread]*hits)},
	}
}

// Start starts the helper if it has anything to read. The program's main function must give NewVisitors to
// helper.Serve. sampling returns the sampling of events[i]; Start sets its Raw. The caller opens its own events for
// the same hits after Start.
func (r *Reader) Start(target perfevent.Target, sampling func(i int) perfevent.Sampling) error {
	h := &helperReader{samplings: make([]int, len(r.events)), done: make(chan struct{})}
	var samplings []perfevent.Sampling
	var events []Event
	size, reads := 0, false
	for i, event := range r.events {
		h.samplings[i] = -1
		byHelper := slices.ContainsFunc(event.Pointers, func(p Pointer) bool { return !p.NoHelper })
		if !byHelper && len(event.Saves) == 0 {
			continue
		}
		s := sampling(i)
		s.Raw, h.samplings[i] = true, len(events)
		size, reads = max(size, room(event.Pointers)), reads || byHelper
		samplings, events = append(samplings, s), append(events, event)
	}
	if !reads {
		return nil
	}
	config, err := encode(events)
	if err != nil {
		return err
	}
	h.Reader, err = helper.Start(target.Beside(), samplings, Visitor, config,
		helper.Options{VisitTime: maxVisit, VisitBytes: size, Share: cmp.Or(r.opts.share, defaultShare), Progress: r.round, Logger: r.opts.Logger})
	if err != nil {
		return fmt.Errorf("read memory while threads are stopped: %w", err)
	}
	var ctx context.Context
	ctx, h.stop = context.WithCancel(context.Background())
	r.helper.Store(h)
	go r.read(ctx, h)
	return nil
}

// running returns the helper, nil if there is none. r may be nil.
func (r *Reader) running() *helperReader {
	if r == nil {
		return nil
	}
	return r.helper.Load()
}

// Helper returns the process ID of the helper, 0 if there is none. Its own hits are not the target's.
func (r *Reader) Helper() uint32 {
	if h := r.running(); h != nil {
		return uint32(h.PID())
	}
	return 0
}

// read receives the helper's readings until Close.
func (r *Reader) read(ctx context.Context, h *helperReader) {
	defer close(h.done)
	err := h.Read(ctx, func(reading *helper.Reading) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if reading.Certainty != helper.None && len(reading.Data) > 0 {
			r.matcher.add(reading)
		}
		return nil
	})
	r.mu.Lock()
	r.ended, r.err = true, err
	r.mu.Unlock()
	r.progress.Announce()
}

// round notes that all readings of samples before a time have arrived: see helper.Options.Progress.
func (r *Reader) round(before uint64) {
	r.mu.Lock()
	r.before = before
	r.mu.Unlock()
	r.progress.Announce()
}

// Seen must be called with each record as soon as it comes, well before Take is called for it: see
// perfevent.Reader.Unordered.
func (r *Reader) Seen(record perfevent.Record) {
	switch record := record.(type) {
	case *perfevent.Sample:
		if record.Sampling >= len(r.events) {
			return
		}
		if h := r.helper.Load(); h != nil && h.samplings[record.Sampling] >= 0 {
			r.mu.Lock()
			r.matcher.saw(thread{record.TID, h.samplings[record.Sampling]}, record.Time)
			r.mu.Unlock()
		}
		r.arrived(r.events[record.Sampling].Pointers, record)
	case *perfevent.Comm:
		if record.Exec {
			r.mu.Lock()
			r.programs.add(record.PID, record.Time)
			delete(r.fixed, record.PID)
			r.mu.Unlock()
		}
	case *perfevent.Exit:
		r.mu.Lock()
		delete(r.last, record.TID)
		if record.PID == record.TID {
			delete(r.fixed, record.PID)
		}
		r.mu.Unlock()
	}
}

// Take returns what the pointers of a hit of events[i] led to, in the order of Event.Pointers. It waits for the
// helper, up to a second after the hit. It must be called at most once for a sample, and in order of time. The result
// belongs to the caller.
func (r *Reader) Take(i int, s *perfevent.Sample) []Found {
	exact := r.takeHelpers(i, s)
	r.mu.Lock()
	found := r.take(s)
	r.mu.Unlock()
	switch {
	case exact == nil && found == nil:
		return make([]Found, len(r.events[i].Pointers))
	case exact == nil:
		return found
	}
	for j, f := range found {
		if f.Read && !(exact[j].Read && exact[j].Certainty > f.Certainty) {
			exact[j] = f
		}
	}
	return exact
}

// takeHelpers returns what the helper has read at a hit, nil if it has read nothing.
func (r *Reader) takeHelpers(i int, s *perfevent.Sample) []Found {
	h := r.helper.Load()
	if h == nil || h.samplings[i] < 0 {
		return nil
	}
	r.progress.Wait(s.Time, func() bool { return r.known(s.Time) })
	r.mu.Lock()
	reading := r.matcher.take(thread{s.TID, h.samplings[i]}, s.Time)
	r.mu.Unlock()
	if reading == nil {
		return nil
	}
	pointers := r.events[i].Pointers
	found := unpack(reading.data, reading.certainty)
	if len(found) < len(pointers) {
		return nil
	}
	for j := range pointers {
		p := &pointers[j]
		if len(p.Next) > 0 {
			break // from here on, a pointer may have several Founds
		}
		if value, ok := p.value(s); ok && p.Saved == 0 && value != found[j].Addr {
			return nil // the reading belongs to another hit
		}
	}
	return found
}

// known reports whether all readings of samples up to a time have arrived.
func (r *Reader) known(when uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended || r.before > when+apart
}

// Rests returns since when and for how long hits came faster than the helper may read, and then effect, as a
// sentence for users. It returns "" if that did not happen.
func (r *Reader) Rests(effect string) string {
	since, lasted := r.rested()
	if since == 0 {
		return ""
	}
	start := time.Now().Add(-time.Duration(perfevent.Now() - since))
	return fmt.Sprintf("hits came too fast from %s on, for %v of CPU time: %s", start.Format("15:04:05.000"), lasted.Round(time.Millisecond), effect)
}

// rested returns when the helper first rested, CLOCK_MONOTONIC in nanoseconds or 0, and for how long it rested on
// all CPUs together.
func (r *Reader) rested() (since uint64, lasted time.Duration) {
	h := r.running()
	if h == nil {
		return 0, 0
	}
	for _, a := range h.Accounts() {
		if a.FirstPaused != 0 && (since == 0 || a.FirstPaused < since) {
			since = a.FirstPaused
		}
		lasted += time.Duration(a.PausedTime)
		if a.PausedSince != 0 {
			lasted += time.Duration(perfevent.Now() - a.PausedSince)
		}
	}
	return since, lasted
}

// Close stops the helper.
func (r *Reader) Close() error {
	h := r.running()
	if h == nil {
		return nil
	}
	h.stop()
	<-h.done
	return errors.Join(r.err, h.Reader.Close())
}
