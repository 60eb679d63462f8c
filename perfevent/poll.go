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
	event int
}

func newPoller() (poller, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return poller{}, fmt.Errorf("create epoll: %w", err)
	}
	if err := unix.SetNonblock(epoll, true); err != nil {
		return poller{}, errors.Join(fmt.Errorf("create epoll: %w", err), unix.Close(epoll))
	}
	p := poller{file: os.NewFile(uintptr(epoll), "epoll"), event: -1}
	if p.epoll, err = p.file.SyscallConn(); err != nil {
		return poller{}, errors.Join(fmt.Errorf("create epoll: %w", err), p.close())
	}
	if p.event, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return poller{}, errors.Join(fmt.Errorf("create eventfd: %w", err), p.close())
	}
	if err := p.add(p.event, unix.EPOLLIN); err != nil {
		return poller{}, errors.Join(err, p.close())
	}
	return p, nil
}

// addRing adds the event that owns a ring. It is edge-triggered: an event whose
// thread has ended is in a constant hang-up, while the ring goes on for others
// and its watermark still wakes the event's pollers.
func (p poller) addRing(fd int) error { return p.add(fd, unix.EPOLLIN|unix.EPOLLET) }

func (p poller) add(fd int, events uint32) error {
	var addErr error
	err := p.epoll.Control(func(epoll uintptr) {
		addErr = unix.EpollCtl(int(epoll), unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
	})
	if err := errors.Join(err, addErr); err != nil {
		return fmt.Errorf("add to epoll: %w", err)
	}
	return nil
}

// wait returns when there is something to do, or after pollTimeout. What it is
// the caller finds out by itself.
func (p poller) wait() error {
	if err := p.file.SetReadDeadline(time.Now().Add(pollTimeout)); err != nil {
		return err
	}
	var events [8]unix.EpollEvent
	var n int
	var waitErr error
	woken := false
	err := p.epoll.Read(func(epoll uintptr) bool {
		n, waitErr = unix.EpollWait(int(epoll), events[:], 0)
		ready := woken || n > 0 || waitErr != nil && waitErr != unix.EINTR
		// A second call says that the network poller has seen a ring ready. It
		// asked the ring to know that, and a ring tells it once only
		// (perf_poll in kernel/events/core.c): there may be nothing left to see.
		woken = true
		return ready
	})
	for _, e := range events[:max(n, 0)] {
		if int(e.Fd) == p.event {
			var counter [8]byte
			_, _ = unix.Read(p.event, counter[:]) // an empty counter is as good as an emptied one
		}
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil
	}
	if waitErr == unix.EINTR {
		waitErr = nil
	}
	return errors.Join(err, waitErr)
}

// wake makes wait return, now or when it is called next.
func (p poller) wake() {
	// The counter of an eventfd is full only if it was woken already.
	_, _ = unix.Write(p.event, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

func (p poller) close() error {
	if p.file == nil {
		return nil
	}
	err := p.file.Close()
	if p.event >= 0 {
		err = errors.Join(err, unix.Close(p.event))
	}
	return err
}
