package perfevent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Counters counts any number of events on a target without recording them. It has no rings,
// and a hit costs nothing in user space.
//
//	OpenCounters → Enable → Read … → Disable → Read → Close
//
// The methods may be called from any goroutine, but not during or after Close.
type Counters struct {
	session Session // owns the events, none of which samples
	cells   []cell
	ended   chan struct{}
	watcher sync.WaitGroup
	closing atomic.Bool
}

// cell is one descriptor and the index of the event that it counts.
type cell struct {
	fd    int
	event int
}

// OpenCounters opens every event on the target, disabled. The whole system and a control group
// take one descriptor for each event and CPU. Processes take one for each event and existing
// thread: later threads and children inherit it and add to its count. OpenCounters uses only
// the Logger of opts.
//
// A thread that is born while the events are being opened may both inherit events and get its
// own. If that is possible, OpenCounters opens all events again, a few times. If threads come
// too fast for that, it logs a warning, and such a thread's hits may be counted twice.
//
// The error is an *OpenError if the kernel refuses an event. It is ErrTooManyFiles, with the
// numbers, if there are too few descriptors. A Started command stays held after an error.
func OpenCounters(target Target, events []Event, opts Options) (*Counters, error) {
	c := &Counters{ended: make(chan struct{})}
	c.session = Session{target: target, opts: opts, counting: true, samplings: make([]Sampling, len(events))}
	for i, e := range events {
		c.session.samplings[i].Event = e
	}
	if err := c.open(); err != nil {
		return nil, errors.Join(err, c.session.free())
	}
	return c, nil
}

func (c *Counters) open() error {
	s := &c.session
	var err error
	if s.cpus, err = onlineCPUs(); err != nil {
		return err
	}
	if s.target.kind == processTarget || s.target.kind == threadTarget {
		s.cpus = []int{anyCPU}
	}
	if s.poll, err = newPoller(); err != nil {
		return err
	}
	if err := s.attach(); err != nil {
		return err
	}
	for _, e := range s.events {
		c.cells = append(c.cells, cell{fd: e.fd, event: int(e.sampling)})
	}
	if len(s.watched) > 0 {
		c.watcher.Go(c.watch)
	}
	return nil
}

// watch closes ended when the target is gone.
func (c *Counters) watch() {
	for !c.closing.Load() {
		if c.session.gone() {
			close(c.ended)
			return
		}
		if err := c.session.poll.wait(); err != nil {
			c.session.opts.logger().Warn("the end of the target will not be seen", "target", c.session.target.String(), "error", err)
			return
		}
	}
}

// Enable starts all counters. If the target is a Started command, it runs from
// now on.
func (c *Counters) Enable() error { return c.session.Enable() }

// Disable stops all counters; what they have counted stays.
func (c *Counters) Disable() error { return c.session.Disable() }

// Read returns what each event has counted since the counters were opened, in
// the order of events. Counters that run are read one after another; after
// Disable, or when the target is gone, the numbers are final.
func (c *Counters) Read() ([]uint64, error) {
	counts := make([]uint64, len(c.session.samplings))
	var value [8]byte
	for _, cell := range c.cells {
		n, err := unix.Read(cell.fd, value[:])
		if err == nil && n != len(value) {
			err = fmt.Errorf("%d bytes", n)
		}
		if err != nil {
			return nil, fmt.Errorf("read the count of %s: %w", c.session.samplings[cell.event].Event, err)
		}
		counts[cell.event] += binary.LittleEndian.Uint64(value[:])
	}
	return counts, nil
}

// Ended is closed when the target's processes or threads have ended, or its
// control group has gone.
func (c *Counters) Ended() <-chan struct{} { return c.ended }

// Close closes all counters. A command that was never let run is killed. Later
// calls do nothing.
func (c *Counters) Close() error {
	c.closing.Store(true)
	c.session.poll.wake()
	c.watcher.Wait()
	return c.session.Close()
}
