// Package tracerun is what runs in a trace instance of tracefs have in common, whichever
// tracer records there: when they read, emit and end, and whose threads are on their lists.
package tracerun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
)

// every is how often a Loop reads.
const every = 50 * time.Millisecond

// Loop is what a run does until its end.
type Loop struct {
	Duration time.Duration // 0: until the context is done or the target has ended
	Interval time.Duration // of Emit; 0: never
	// Read reads what there is, and tells whether there may be more already.
	Read func() (more bool, err error)
	// Emit ends an interval, but for the last one: what was read by now is in it.
	Emit func() error
	// Ended tells whether the target has ended. It is asked when there is no more.
	Ended func() bool
}

// Run returns at the end of the run, or the error of Read or Emit. A storm of records keeps
// neither the run from its end nor an interval.
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
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	now := make(chan time.Time)
	close(now)
	for more := false; ; {
		next := ticker.C
		if more {
			next = now
		}
		select {
		case <-ctx.Done():
			return nil
		case <-end:
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
		var err error
		if more, err = l.Read(); err != nil {
			return err
		}
		if !more && l.Ended() {
			return nil
		}
	}
}

// AddThreads adds the threads of a process to a list of tracefs, by add. Those that are born
// meanwhile may be of a thread that was not in the list yet: it looks again until there
// are no more. The error is unix.ESRCH for a process that is not there.
func AddThreads(pid int, add func(lines string) error) error {
	listed := map[string]bool{}
	for {
		threads, err := process.Host{}.Threads(pid)
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("process %d: %w", pid, unix.ESRCH)
		} else if err != nil {
			return fmt.Errorf("process %d: %w", pid, err)
		}
		var tids []string
		for _, thread := range threads {
			if tid := strconv.Itoa(thread); !listed[tid] {
				listed[tid] = true
				tids = append(tids, tid)
			}
		}
		if len(tids) == 0 {
			return nil
		}
		if err := add(strings.Join(tids, "\n")); err != nil {
			return fmt.Errorf("trace process %d: %w", pid, err)
		}
	}
}
