package profiler

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/perfevent"
)

// pending passes recent samples from the watching goroutine to the handling one, which replays them
// before it handles records of a given time.
type pending struct {
	from  atomic.Uint64 // that time; 0 if nothing is pending
	ready chan struct{} // closed when the fields below are set
	there bool          // recent samples can be read
	end   uint64        // up to this time
	notes []string
	done  chan struct{} // receives a value when they have been replayed

	mu    sync.Mutex
	later []table.Span // spans that follow
}

// announce says that samples will have to be replayed before records of time from are handled.
func (p *pending) announce(from uint64) {
	p.ready, p.there = make(chan struct{}), false
	select {
	case <-p.done: // nobody waited for the last one
	default:
	}
	p.from.Store(from)
}

// give says that the fields are set. there is false if reading the samples failed.
func (p *pending) give() { close(p.ready) }

// see looks at each record of the session before the engine does.
func (a *alarms) see(record perfevent.Record) {
	a.come(record.Common().Time)
	a.births.see(record)
	if sample, ok := record.(*perfevent.Sample); ok {
		if woken := a.woken.Swap(0); woken > 0 {
			a.run.opts.Logger.Debug("first event", "at", sample.Time, "after", time.Duration(sample.Time-woken))
		}
	}
}

// come replays the pending samples if records of time now are about to be handled.
func (a *alarms) come(now uint64) {
	if from := a.pending.from.Load(); from != 0 && now >= from {
		a.replay()
	}
}

// replay replays the recent samples, and in between the records of births.
func (a *alarms) replay() {
	p, engine := &a.pending, a.run.engine
	<-p.ready
	if p.there {
		kept := a.recent.Read()
		start := kept.Span(p.end, a.Before)
		a.span(table.Span{Start: start, End: p.end, Notes: a.reach(kept, start, p.end, p.notes)})
		before := a.births.records
		upTo := func(end uint64) {
			for len(before) > 0 && before[0].Common().Time <= end {
				_ = engine.Replay(before[0]) // a table.Recorder's error is always nil
				before = before[1:]
			}
		}
		_ = kept.Each(func(record perfevent.Record) error {
			upTo(record.Common().Time)
			return engine.Replay(record)
		})
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.later {
		a.span(s)
	}
	p.later = nil
	p.from.Store(0)
	p.done <- struct{}{}
}

// births keeps records of thread starts, thread ends and exec for as long as recent samples are
// kept. Collectors follow them.
type births struct {
	keep    uint64 // nanoseconds; 0 keeps none
	records []perfevent.Record
}

// see keeps a copy of a record, and drops records that are too old.
func (b *births) see(record perfevent.Record) {
	if b.keep == 0 {
		return
	}
	switch r := record.(type) {
	case *perfevent.Fork:
		c := *r
		b.records = append(b.records, &c)
	case *perfevent.Exit:
		c := *r
		b.records = append(b.records, &c)
	case *perfevent.Comm:
		c := *r
		c.Name = bytes.Clone(r.Name)
		b.records = append(b.records, &c)
	default:
		return
	}
	now := record.Common().Time
	for now-min(now, b.records[0].Common().Time) > b.keep+uint64(keepLives) {
		b.records = b.records[1:]
	}
}
