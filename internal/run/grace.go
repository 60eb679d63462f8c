package run

import (
	"context"
	"time"

	"github.com/ringtap/ringtap/internal/process"
)

// grace is how long after its end a run goes on to read mapped files for stacks and names. Any
// process can have mapped a file whose tables take minutes, and a busy host takes seconds for
// honest ones. A second signal ends ringtap immediately.
const grace = 10 * time.Second

// Late returns a channel that is closed when mapped files may no longer be read: grace after ctx
// is done, or after duration has passed if it is not 0. The processes' files are not read any
// more then either. The caller calls stop when it needs no more files.
func Late(ctx context.Context, duration time.Duration, processes *process.Table) (late <-chan struct{}, stop func()) {
	release := func() {}
	if duration > 0 {
		ctx, release = context.WithTimeout(ctx, duration)
	}
	over := make(chan struct{})
	ended, cancel := context.WithCancel(context.Background())
	unwatch := context.AfterFunc(ctx, func() {
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-ended.Done():
			return
		case <-timer.C:
		}
		if processes != nil {
			processes.EndReads()
		}
		close(over)
	})
	return over, func() {
		unwatch()
		cancel()
		release()
	}
}
