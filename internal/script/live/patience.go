package live

import (
	"context"
	"sync/atomic"
	"time"
)

// Hits that wait when the user ends the run are still handled: for as long as Patience, and at
// least so many as assured. In a storm there may be millions.
const (
	Patience = 600 * time.Millisecond
	assured  = 60_000
)

// impatience tells when hits that wait are no longer handled.
type impatience struct {
	phase atomic.Uint32
	after int // hits that were handled after the end
}

// The phases of a run.
const (
	running uint32 = iota
	ending
	overdue
)

// begin begins with the end of a context. The caller calls stop when the run is over.
func (i *impatience) begin(ctx context.Context) (stop func()) {
	waited := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
			i.phase.Store(ending)
		case <-waited:
			return
		}
		select {
		case <-time.After(Patience):
			i.phase.Store(overdue)
		case <-waited:
		}
	}()
	return func() { close(waited) }
}

// over tells whether the next hit is one too many.
func (i *impatience) over() bool {
	phase := i.phase.Load()
	if phase != running {
		i.after++
	}
	return phase == overdue && i.after > assured
}
