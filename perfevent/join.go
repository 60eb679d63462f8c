package perfevent

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"
)

// Joined is the events of a process that write to the rings of a session which was opened
// on others.
type Joined struct {
	events []attached
	closed sync.Once
}

// Join opens the samplings of a session, which has Options.HandOver, on one process more:
// on its threads, and on the threads and children that they create. They are enabled. Their
// ids are not among those of Events. The session must not be closed meanwhile.
func (s *Session) Join(pid int) (*Joined, error) {
	o := &Session{target: Process(pid), samplings: s.samplings, opts: s.opts, cpus: s.cpus, rings: s.rings,
		format: s.format, dropped: s.dropped, swapped: s.swapped, ringSize: s.ringSize,
		watched: []watched{{pid: pid, tid: pid, pidfd: -1}}}
	err := o.attachThreads()
	for range 2 { // as control does
		if err == nil {
			err = o.controlEvents(o.events, unix.PERF_EVENT_IOC_ENABLE)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("watch process %d too: %w", pid, err), closeEvents(o.events))
	}
	return &Joined{events: o.events}, nil
}

// Close closes the events. Later calls do nothing.
func (j *Joined) Close() (err error) {
	j.closed.Do(func() { err = closeEvents(j.events) })
	return err
}
