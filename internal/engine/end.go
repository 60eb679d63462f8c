package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/internal/process"
)

// grace is how long ringtap keeps reading mapped files for stacks and names after the end of a run.
// It is bounded because a hostile file's tables can take minutes. It is not shorter because a busy
// host takes seconds even for ordinary files. A second signal ends ringtap immediately.
const grace = 10 * time.Second

// end tracks when a run ends, and why.
type end struct {
	ctx    context.Context // done when the run ends
	cancel context.CancelFunc
	ended  atomic.Int64  // time.Now when it ended; 0 until then
	late   chan struct{} // closed when mapped files must not be read any more
	stop   func()
	timer  *time.Timer // for the run's duration; nil without one
}

// watch ends the run when ctx is done. processes, unless nil, may still read files until grace
// after the end.
func (e *end) watch(ctx context.Context, processes *process.Table) {
	e.ctx, e.cancel = context.WithCancel(ctx)
	e.late = make(chan struct{})
	unmark := context.AfterFunc(e.ctx, func() { e.ended.Store(time.Now().UnixNano()) })
	stop := After(e.ctx, grace, func() {
		if processes != nil {
			processes.EndReads()
		}
		close(e.late)
	})
	e.stop = func() { unmark(); stop() }
}

// after ends the run after a duration, unless it is 0.
func (e *end) after(duration time.Duration) {
	if duration > 0 {
		e.timer = time.AfterFunc(duration, e.cancel)
	}
}

// since returns how long ago the run ended, or false if it has not ended.
func (e *end) since() (time.Duration, bool) {
	ended := e.ended.Load()
	if ended == 0 {
		return 0, false
	}
	return time.Since(time.Unix(0, ended)), true
}

// close ends the run and stops the timers. If grace is not over yet, late is never closed.
func (e *end) close() {
	e.stop()
	if e.timer != nil {
		e.timer.Stop()
	}
	e.cancel()
}

// After calls f once, delay after ctx is done. stop prevents the call; if f is already running,
// stop waits for it to return.
func After(ctx context.Context, delay time.Duration, f func()) (stop func()) {
	stopped, idle := make(chan struct{}), make(chan struct{})
	unwatch := context.AfterFunc(ctx, func() {
		defer close(idle)
		timer := time.NewTimer(delay)
		defer timer.Stop()
		select {
		case <-stopped:
		case <-timer.C:
			f()
		}
	})
	return sync.OnceFunc(func() {
		close(stopped)
		if !unwatch() {
			<-idle
		}
	})
}
