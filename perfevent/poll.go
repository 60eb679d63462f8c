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
// Go's network poller waits for the epoll descriptor. A goroutine in epoll_wait(2) would look
// busy to the runtime, whose monitor thread would then wake up every few microseconds. That
// was a fifth of the cost of a ten-second profile.
type poller struct {
	file  *os.File // the epoll descriptor
	epoll syscall.RawConn
	event *os.File      // an eventfd; a File, so that a late wake can't write to a reused descriptor
	most  time.Duration // the longest wait
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
	// Edge-triggered: each write is an edge, so nobody needs to read the counter.
	if err := p.add(event, unix.EPOLLIN|unix.EPOLLET); err != nil {
		return poller{}, errors.Join(err, p.close())
	}
	return p, nil
}

// addRing adds the event that owns a ring. It is edge-triggered because an event whose thread
// has ended reports a hang-up all the time. Other events still write to its ring, whose
// watermark still wakes the pollers of that event.
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

// wait returns when a ring or a process is ready, when wake is called, or when p.most has passed.
// It does not say which.
func (p poller) wait() error {
	_, err := p.waitFor(p.most)
	return err
}

// waitFor is wait with another timeout. It reports whether something ended the wait early.
func (p poller) waitFor(timeout time.Duration) (woken bool, err error) {
	if err := p.file.SetReadDeadline(time.Now().Add(timeout)); err != nil {
		return false, err
	}
	var events [8]unix.EpollEvent
	var n int
	var waitErr error
	again := false
	err = p.epoll.Read(func(epoll uintptr) bool {
		n, waitErr = unix.EpollWait(int(epoll), events[:], 0)
		ready := again || n > 0 || waitErr != nil && waitErr != unix.EINTR
		// A second call means that the network poller has seen a ring ready. A
		// ring reports that only once (perf_poll in kernel/events/core.c), so
		// epoll may report nothing now.
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

// waitHere is wait, but blocks the caller's thread. It returns in half the time, but makes the
// runtime's monitor thread busy: see poller.
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
