package session

import (
	"context"
	"sync"
	"time"

	"github.com/ringtap/ringtap/internal/script/live"
)

// interruptAfter ends what loops when the context is done and, with probes of the machine, the
// hits that wait have had their time. The caller calls stop before the end probes.
func (s *session) interruptAfter(ctx context.Context) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-ctx.Done():
		case <-done:
			return
		}
		patience := time.Duration(0)
		if s.attached != nil {
			patience = live.Patience * 3 / 2
		}
		select {
		case <-time.After(patience):
			s.machine.Interrupt()
		case <-done:
		}
	}()
	return sync.OnceFunc(func() {
		close(done)
		<-ended
	})
}
