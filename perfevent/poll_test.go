package perfevent

import (
	"testing"

	"golang.org/x/sys/unix"
)

// A context that is done, a growth or a second Close may wake a poller late, when
// its descriptor's number is another file's.
func TestALateWakeWritesToNoOtherFile(t *testing.T) {
	p, err := newPoller()
	if err != nil {
		t.Fatal(err)
	}
	number := int(p.event.Fd())
	if err := p.close(); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		var ends [2]int
		if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
			t.Fatal(err)
		}
		defer unix.Close(ends[0])
		defer unix.Close(ends[1])
		if ends[1] != number {
			continue
		}
		p.wake()
		var b [8]byte
		if n, err := unix.Read(ends[0], b[:]); err != unix.EAGAIN {
			t.Errorf("%d bytes are in the pipe, %v", n, err)
		}
		return
	}
	t.Skip("the number is in use elsewhere")
}

func TestEachWakeIsSeenOnce(t *testing.T) {
	p, err := newPoller()
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for _, wakes := range []int{0, 1, 0, 2, 0, 1} {
		for range wakes {
			p.wake()
		}
		var events [2]unix.EpollEvent
		var n int
		if err := p.epoll.Control(func(epoll uintptr) { n, err = unix.EpollWait(int(epoll), events[:], 0) }); err != nil {
			t.Fatal(err)
		}
		if want := min(wakes, 1); n != want || err != nil {
			t.Errorf("after %d wakes %d events, %v", wakes, n, err)
		}
	}
}
