package live

import (
	"context"
	"sync/atomic"
	"time"
)

// When the user ends the run, hits still wait in the rings: millions of them in a storm. They are
// handled for as long as Patience. After that they are handled until assured of them are done or
// longest has passed, because a clause may start a program at each hit.
const (
	Patience = 600 * time.Millisecond
	assured  = 60_000
	longest  = 10 * time.Second
)

// impatience decides when waiting hits are dropped.
type impatience struct {
	phase atomic.Uint32
	after int // hits that were handled after the end
}

// The phases of a run.
const (
	running uint32 = iota
	ending
	overdue
	late
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
		for _, next := range []struct {
			after time.Duration
			phase uint32
		}{{Patience, overdue}, {longest - Patience, late}} {
			select {
			case <-time.After(next.after):
				i.phase.Store(next.phase)
			case <-waited:
				return
			}
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
	return phase == overdue && i.after > assured || phase == late
}
