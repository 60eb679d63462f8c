package engine

import (
	"context"
	"time"
)

// every is the polling interval of a Loop.
const every = 50 * time.Millisecond

// Loop is a run that reads no rings. It reads a trace instance of tracefs, or counts of the kernel.
// The zero value waits until the context is done.
type Loop struct {
	Duration time.Duration // 0: until the context is done or the target has ended
	Interval time.Duration // between two calls of Emit; 0: Emit is never called
	// Read reads what is there, and reports whether more may be there already. If nil, nothing is
	// read.
	Read func() (more bool, err error)
	// Emit ends an interval: everything read so far belongs to it. It is not called for the last
	// interval.
	Emit func() error
	// Ended reports whether the target has ended. It is called when there is nothing more to read.
	// It may be nil.
	Ended func() bool
	Done  <-chan struct{} // closed when the target has ended; may be nil
}

// Run returns at the end of the run, or with the error of Read or Emit. Even if there is always
// more to read, the run and its intervals end on time.
func (l *Loop) Run(ctx context.Context) error {
	var end, interval <-chan time.Time
	until := time.Now().Add(l.Duration)
	if l.Duration > 0 {
		timer := time.NewTimer(l.Duration)
		defer timer.Stop()
		end = timer.C
	}
	if l.Interval > 0 {
		ticker := time.NewTicker(l.Interval)
		defer ticker.Stop()
		interval = ticker.C
	}
	var poll <-chan time.Time
	if l.Read != nil || l.Ended != nil {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		poll = ticker.C
	}
	now := make(chan time.Time)
	close(now)
	for more := false; ; {
		next := poll
		if more {
			next = now
		}
		select {
		case <-ctx.Done():
			return nil
		case <-end:
			return nil
		case <-l.Done:
			return nil
		case tick := <-interval:
			if l.Duration > 0 && !tick.Before(until) {
				return nil
			}
			if err := l.Emit(); err != nil {
				return err
			}
			continue
		case <-next:
		}
		if l.Read != nil {
			var err error
			if more, err = l.Read(); err != nil {
				return err
			}
		}
		if !more && l.Ended != nil && l.Ended() {
			return nil
		}
	}
}
