package exacttext

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/perfevent/near"
)

// Sampling is an event at whose hits texts are read. Sampling.Raw is set here.
type Sampling struct {
	perfevent.Sampling
	Texts []Text
	Keeps []Keep // for the texts of later hits of the thread, of this sampling or another one
}

// Options are the bounds of a Reader.
type Options struct {
	// Share is the part of each CPU that reading may take; 0.1. Who asks for texts wants
	// them, so that it is more than near's own: about 4,500 hits a second and CPU.
	Share  float64
	Logger *slog.Logger // nil discards
}

const defaultShare = 0.1

// visit bounds a visit: a page that is not in memory has to come.
const visit = 2 * time.Millisecond

// Reader has the texts of hits.
type Reader struct {
	near *near.Reader
	stop context.CancelFunc
	done chan struct{} // closed when near's Read has returned
	news chan struct{} // something happened that Take may wait for

	mu      sync.Mutex
	matcher matcher
	before  uint64 // all readings of earlier samples are there
	ended   bool   // there will be none any more
	err     error  // of near's Read
}

// Start begins to read texts, in a program whose main function gives NewVisitors to near.Serve. The
// caller opens its own events for the same hits after this.
func Start(target perfevent.Target, samplings []Sampling, opts Options) (*Reader, error) {
	var events []perfevent.Sampling
	var all []wanted
	most := 0
	for _, s := range samplings {
		s.Raw = true
		most = max(most, room(s.Texts))
		events, all = append(events, s.Sampling), append(all, wanted{s.Texts, s.Keeps})
	}
	config, err := encode(all)
	if err != nil {
		return nil, err
	}
	if opts.Share <= 0 {
		opts.Share = defaultShare
	}
	r := &Reader{matcher: matcher{threads: make(map[thread]*hits)}, news: make(chan struct{}, 1), done: make(chan struct{})}
	r.near, err = near.Start(target.Beside(), events, Visitor, config,
		near.Options{VisitTime: visit, VisitBytes: most, Share: opts.Share, Round: r.round, Logger: opts.Logger})
	if err != nil {
		return nil, err
	}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(context.Background())
	go r.read(ctx)
	return r, nil
}

// PID is that of the helper, whose own hits nobody wants to see.
func (r *Reader) PID() uint32 { return uint32(r.near.PID()) }

// read takes the readings until the end.
func (r *Reader) read(ctx context.Context) {
	defer close(r.done)
	err := r.near.Read(ctx, func(reading *near.Reading) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		if reading.Verdict.Kind != near.None && len(reading.Data) > 0 {
			r.matcher.add(reading)
		}
		return nil
	})
	r.mu.Lock()
	r.ended, r.err = true, err
	r.mu.Unlock()
	r.announce()
}

// round takes note of how far the readings are.
func (r *Reader) round(before uint64) {
	r.mu.Lock()
	r.before = before
	r.mu.Unlock()
	r.announce()
}

// announce ends a wait for news.
func (r *Reader) announce() {
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// Saw is told of the caller's sample of a hit, well before Take is asked for it. It keeps what
// was read at a hit from the hit before it. A caller whose records come late does without.
func (r *Reader) Saw(sampling int, s *perfevent.Sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.matcher.saw(thread{s.TID, sampling}, s.Time)
}

// within is how long after a hit, in nanoseconds, its reading is waited for. It comes after a
// tenth of a second, and later where this program has to wait for a CPU.
const within = uint64(time.Second)

// Take returns the texts of a hit of a sampling, in the order of Sampling.Texts, and whether they were
// read exactly; none where they were not read. It waits for that. It is called once for a
// sample and in order of time.
func (r *Reader) Take(sampling int, s *perfevent.Sample) (texts []Found, exact bool) {
	r.wait(s.Time)
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.matcher.take(thread{s.TID, sampling}, s.Time)
	if found == nil {
		return nil, false
	}
	return unpack(found.data), found.exact
}

// wait returns when the readings of a time are there.
func (r *Reader) wait(at uint64) {
	passed := perfevent.Now() - at
	if r.known(at) || passed >= within {
		return
	}
	timer := time.NewTimer(time.Duration(within - passed))
	defer timer.Stop()
	for !r.known(at) {
		select {
		case <-r.news:
		case <-timer.C:
			return
		}
	}
}

func (r *Reader) known(at uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ended || r.before > at+apart
}

// Rested tells whether there were more hits than may be read: since when, CLOCK_MONOTONIC in
// nanoseconds, or 0, and for how long, of all CPUs together.
func (r *Reader) Rested() (since uint64, lasted time.Duration) {
	for _, a := range r.near.Accounts() {
		if a.RestedAt != 0 && (since == 0 || a.RestedAt < since) {
			since = a.RestedAt
		}
		lasted += time.Duration(a.RestTime)
		if a.Resting != 0 {
			lasted += time.Duration(perfevent.Now() - a.Resting)
		}
	}
	return since, lasted
}

// Close ends the reading.
func (r *Reader) Close() error {
	r.stop()
	<-r.done
	return errors.Join(r.err, r.near.Close())
}
