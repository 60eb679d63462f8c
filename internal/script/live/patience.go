package live

import (
	"context"
	"sync/atomic"
	"time"
)

// Patience is how long hits that wait are still handled after the user has ended the run. In a
// storm they may be millions.
const Patience = 300 * time.Millisecond

// impatience tells when Patience is over.
type impatience struct{ over atomic.Bool }

// begin begins with the end of a context. The caller calls stop when the run is over.
func (i *impatience) begin(ctx context.Context) (stop func()) {
	waited := make(chan struct{})
	go func() {
		<-ctx.Done()
		select {
		case <-time.After(Patience):
			i.over.Store(true)
		case <-waited:
		}
	}()
	return func() { close(waited) }
}
