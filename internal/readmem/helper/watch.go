package helper

import (
	"errors"
	"sync"

	"github.com/ringtap/ringtap/perfevent"
)

// watchedProcesses are the processes whose context switches are recorded.
type watchedProcesses struct {
	mu     sync.Mutex
	target int                       // the process that FollowSession was given; 0 once it has ended
	events map[int]*perfevent.Joined // by process id, of all other watched processes
	closed bool
}

// Watch also records the context switches of the process pid, so that its readings can be Exact.
// It has no effect if the process is already watched. It takes a few milliseconds, and may be
// called from any goroutine.
func (r *Reader) Watch(pid int) error {
	w := &r.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.target == pid || w.events[pid] != nil {
		return nil
	}
	events, err := r.session.Join(pid)
	if err != nil {
		return err
	}
	if w.events == nil {
		w.events = make(map[int]*perfevent.Joined)
	}
	w.events[pid] = events
	return nil
}

// Unwatch closes the events that Watch opened. Call it when the process has ended, because
// another process may get the same id. It may be called from any goroutine.
func (r *Reader) Unwatch(pid int) error {
	w := &r.watched
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.target == pid {
		w.target = 0
	}
	events := w.events[pid]
	if events == nil {
		return nil
	}
	delete(w.events, pid)
	return events.Close()
}

// close closes all events. Watch does nothing after that.
func (w *watchedProcesses) close() (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, events := range w.events {
		err = errors.Join(err, events.Close())
	}
	w.closed = true
	return err
}
