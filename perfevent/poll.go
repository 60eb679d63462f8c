package perfevent

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pollTimeout bounds how long records below the watermark wait.
const pollTimeout = 200 * time.Millisecond

// poller waits for any ring to reach its watermark, for a process to end, or
// for a call of wake.
//
// The epoll descriptor is itself waited for by Go's network poller. A goroutine
// in epoll_wait(2) looks busy to the runtime, whose monitor thread then wakes up
// every few microseconds: a fifth of what a profile of ten seconds cost.
type poller struct {
	file  *os.File // the epoll descriptor
	epoll syscall.RawConn
	event *os.File      // an eventfd: a late wake must not write to what has its number next
	most  time.Duration // that a wait takes
}

func newPoller() (poller, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return poller{}, fmt.Errorf("create epoll: %w", err)
	}
	if err := unix.SetNonblock(epoll, true); err != nil {
		return poller{}, errors.Join(fmt.Errorf("create epoll: %w", err), unix.Close(epoll))
	}
	p := poller{file: os.NewFile(uintptr(epoll), "epoll"), most: pollTimeout}
	if p.epoll, err = p.file.SyscallConn(); err != nil {
		return poller{}, errors.Join(fmt.Errorf("create epoll: %w", err), p.close())
	}
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		return poller{}, errors.Join(fmt.Errorf("create eventfd: %w", err), p.close())
	}
	p.event = os.NewFile(uintptr(event), "eventfd")
	// Each write is an edge, so that nobody needs to empty the counter.
	if err := p.add(event, unix.EPOLLIN|unix.EPOLLET); err != nil {
		return poller{}, errors.Join(err, p.close())
	}
	return p, nil
}

// addRing adds the event that owns a ring. It is edge-triggered: an event whose
// thread has ended is in a constant hang-up, while the ring goes on for others
// and its watermark still wakes the event's pollers.
func (p poller) addRing(fd int) error { return p.add(fd, unix.EPOLLIN|unix.EPOLLET) }

func (p poller) add(fd int, events uint32) error {
	if err := p.control(unix.EPOLL_CTL_ADD, fd, events); err != nil {
		return fmt.Errorf("add to epoll: %w", err)
	}
	return nil
}

// removeRing removes what addRing has added.
func (p poller) removeRing(fd int) error {
	if err := p.control(unix.EPOLL_CTL_DEL, fd, 0); err != nil {
		return fmt.Errorf("remove from epoll: %w", err)
	}
	return nil
}

// control changes what the epoll descriptor waits for.
func (p poller) control(op, fd int, events uint32) error {
	var ctlErr error
	err := p.epoll.Control(func(epoll uintptr) {
		ctlErr = unix.EpollCtl(int(epoll), op, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
	})
	return errors.Join(err, ctlErr)
}

// wait returns when there is something to do, or when the most that it may take is over. What it is
// the caller finds out by itself.
func (p poller) wait() error {
	_, err := p.waitFor(p.most)
	return err
}

// waitFor is wait with another bound. It reports whether something has ended the wait before.
func (p poller) waitFor(most time.Duration) (woken bool, err error) {
	if err := p.file.SetReadDeadline(time.Now().Add(most)); err != nil {
		return false, err
	}
	var events [8]unix.EpollEvent
	var n int
	var waitErr error
	again := false
	err = p.epoll.Read(func(epoll uintptr) bool {
		n, waitErr = unix.EpollWait(int(epoll), events[:], 0)
		ready := again || n > 0 || waitErr != nil && waitErr != unix.EINTR
		// A second call says that the network poller has seen a ring ready. It
		// asked the ring to know that, and a ring tells it once only
		// (perf_poll in kernel/events/core.c): there may be nothing left to see.
		again = true
		return ready
	})
	woken = true
	if errors.Is(err, os.ErrDeadlineExceeded) {
		woken, err = false, nil
	}
	if waitErr == unix.EINTR {
		waitErr = nil
	}
	return woken, errors.Join(err, waitErr)
}

// waitHere is wait on the caller's own thread, which takes half as long to come
// back and costs the runtime's monitor.
func (p poller) waitHere() error {
	var events [8]unix.EpollEvent
	var waitErr error
	err := p.epoll.Control(func(epoll uintptr) {
		_, waitErr = unix.EpollWait(int(epoll), events[:], int(p.most.Milliseconds()))
	})
	if waitErr == unix.EINTR {
		waitErr = nil
	}
	return errors.Join(err, waitErr)
}

// wake makes wait return, now or when it is called next. After close it does
// nothing.
func (p poller) wake() {
	_, _ = p.event.Write([]byte{1, 0, 0, 0, 0, 0, 0, 0}) // fails only after close
}

func (p poller) close() error {
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	if p.event != nil {
		err = errors.Join(err, p.event.Close())
	}
	return err
}
