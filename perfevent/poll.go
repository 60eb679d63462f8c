package perfevent

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// pollTimeout bounds, in milliseconds, how long records below the watermark
// wait.
const pollTimeout = 200

// poller waits for any ring to reach its watermark, for a process to end, or
// for a call of wake.
type poller struct {
	epoll, event int
}

func newPoller() (poller, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return poller{}, fmt.Errorf("create epoll: %w", err)
	}
	event, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return poller{}, errors.Join(fmt.Errorf("create eventfd: %w", err), unix.Close(epoll))
	}
	p := poller{epoll: epoll, event: event}
	if err := p.add(event, unix.EPOLLIN); err != nil {
		return poller{}, errors.Join(err, p.close())
	}
	return p, nil
}

// addRing adds the event that owns a ring. It is edge-triggered: an event whose
// thread has ended is in a constant hang-up, while the ring goes on for others
// and its watermark still wakes the event's pollers.
func (p poller) addRing(fd int) error { return p.add(fd, unix.EPOLLIN|unix.EPOLLET) }

func (p poller) add(fd int, events uint32) error {
	err := unix.EpollCtl(p.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
	if err != nil {
		return fmt.Errorf("add to epoll: %w", err)
	}
	return nil
}

// wait returns when there is something to do, or after pollTimeout. What it is
// the caller finds out by itself.
func (p poller) wait() error {
	var events [8]unix.EpollEvent
	n, err := unix.EpollWait(p.epoll, events[:], pollTimeout)
	if err == unix.EINTR {
		return nil
	}
	for _, e := range events[:max(n, 0)] {
		if int(e.Fd) == p.event {
			var counter [8]byte
			_, _ = unix.Read(p.event, counter[:]) // an empty counter is as good as an emptied one
		}
	}
	return err
}

// wake makes wait return, now or when it is called next.
func (p poller) wake() {
	// The counter of an eventfd is full only if it was woken already.
	_, _ = unix.Write(p.event, []byte{1, 0, 0, 0, 0, 0, 0, 0})
}

func (p poller) close() error {
	if p.epoll == 0 && p.event == 0 {
		return nil
	}
	return errors.Join(unix.Close(p.epoll), unix.Close(p.event))
}
