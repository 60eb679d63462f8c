package pressure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Monitor is an armed trigger. Wait and Pending are called from one goroutine at
// a time, and Close after they have returned.
type Monitor struct {
	Trigger Trigger
	path    string
	file    *os.File // whose trigger the kernel watches
	cancel  int      // eventfd
	closed  sync.Once

	before time.Duration // stalled when it was armed
	real   bool          // there was an alarm that can be
}

// system is where the pressure of the whole system stands.
const system = "/proc/pressure"

// Open arms a trigger. Its error is a *Error.
func Open(t Trigger) (*Monitor, error) {
	if err := t.validate(); err != nil {
		return nil, &Error{Trigger: t, Err: unix.EINVAL, Hint: err.Error()}
	}
	m := &Monitor{Trigger: t, path: t.file()}
	if t.Resource == "cpu" && t.Full && filepath.Dir(m.path) == system {
		return nil, &Error{Trigger: t, Path: m.path, Err: unix.EINVAL, Hint: cpuFull}
	}
	// The descriptor of Go's own would be given to its network poller, to which a
	// pressure file is always ready.
	fd, err := unix.Open(m.path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, explainOpen(t, m.path, err)
	}
	m.file = os.NewFile(uintptr(fd), m.path)
	// With the byte that ends it: older kernels take the last one for that.
	if _, err := unix.Write(fd, append([]byte(t.written()), 0)); err != nil {
		return nil, errors.Join(explainWrite(t, m.path, err), m.file.Close())
	}
	if m.before, err = m.Stalled(); err != nil {
		return nil, errors.Join(&Error{Trigger: t, Path: m.path, Err: err}, m.file.Close())
	}
	if m.cancel, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return nil, errors.Join(&Error{Trigger: t, Path: m.path, Err: err}, m.file.Close())
	}
	return m, nil
}

// file is the file of the trigger's pressure. A control group's has another name
// than the system's.
func (t Trigger) file() string {
	if t.Place == "" || filepath.Clean(t.Place) == system {
		return filepath.Join(system, t.Resource)
	}
	return filepath.Join(t.Place, t.Resource+".pressure")
}

// Wait returns at the next alarm, also one that came since the last. The error is
// the context's when that is done first, or a *Error of ErrGone.
//
// It takes a thread of its own as long as it waits.
func (m *Monitor) Wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		// The counter of an eventfd is full only if it was woken already.
		_, _ = unix.Write(m.cancel, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	})
	defer stop()
	for ctx.Err() == nil {
		alarm, err := m.poll(-1)
		if alarm || err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Pending tells, without waiting, whether an alarm came since the last one that
// was told of.
func (m *Monitor) Pending() (bool, error) { return m.poll(0) }

// poll waits for an alarm or a cancellation. Asking for an alarm takes it away.
func (m *Monitor) poll(timeout int) (alarm bool, err error) {
	fds := []unix.PollFd{{Fd: int32(m.file.Fd()), Events: unix.POLLPRI}, {Fd: int32(m.cancel), Events: unix.POLLIN}}
	_, err = unix.Poll(fds, timeout)
	switch {
	case err == unix.EINTR:
		return false, nil
	case err != nil:
		return false, &Error{Trigger: m.Trigger, Path: m.path, Err: err}
	case fds[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0:
		return false, &Error{Trigger: m.Trigger, Path: m.path, Kind: ErrGone, Err: unix.ENODEV, Hint: "the control group is gone"}
	}
	return fds[0].Revents&unix.POLLPRI != 0 && m.canBe(), nil
}

// canBe tells whether an alarm can be one. On kernels since 6.5 the first one of a
// window that anybody may have can count all that was stalled since boot: its count
// began with the total of another kind of trigger (psi_trigger_create in
// kernel/sched/psi.c).
func (m *Monitor) canBe() bool {
	if !m.real {
		now, err := m.Stalled()
		m.real = err != nil || now-m.before >= m.Trigger.Threshold
	}
	return m.real
}

// Stalled is the time that the kernel has counted as stalled so far. It is for the
// difference of two calls.
func (m *Monitor) Stalled() (time.Duration, error) {
	text, err := os.ReadFile(m.path)
	if err != nil {
		return 0, fmt.Errorf("read the pressure: %w", err)
	}
	total, err := parseTotal(string(text), m.Trigger.Kind())
	if err != nil {
		return 0, fmt.Errorf("read %s: %w", m.path, err)
	}
	return total, nil
}

// Close disarms the trigger. Later calls do nothing.
func (m *Monitor) Close() (err error) {
	m.closed.Do(func() { err = errors.Join(m.file.Close(), unix.Close(m.cancel)) })
	return err
}
