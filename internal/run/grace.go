package run

import (
	"context"
	"time"

	"github.com/ringtap/ringtap/internal/process"
)

// grace is how long a run that is told to end goes on to read files for its stacks and
// names. Any process can have mapped a file whose tables take minutes, and a busy host takes
// seconds for honest ones. A second signal ends ringtap at once.
const grace = 10 * time.Second

// Late tells by a channel that is closed when a run was told to end and has had its time:
// the files that its processes have mapped are not read any more then. The caller calls
// stop when it needs no more of them.
func Late(ctx context.Context, processes *process.Table) (late <-chan struct{}, stop func()) {
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
	}
}
