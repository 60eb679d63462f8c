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

	"github.com/ringtap/ringtap/internal/host/proc"
)

// Monitor is an armed trigger. Only one goroutine at a time may call Wait and Pending. Close may be
// called only after they have returned.
type Monitor struct {
	Trigger Trigger
	path    string
	file    *os.File // the open pressure file, which holds the trigger
	cancel  int      // eventfd that interrupts Wait
	closed  sync.Once

	before time.Duration // Stalled when the trigger was armed
	real   bool          // canBe has returned true
}

// system is the directory of the whole system's pressure files.
var system = proc.Live.Name("pressure")

// Open arms a trigger. Its error unwraps to an *Error.
func Open(t Trigger) (*Monitor, error) {
	if err := t.validate(); err != nil {
		return nil, &Error{Trigger: t, Err: unix.EINVAL, Hint: err.Error()}
	}
	m := &Monitor{Trigger: t, path: t.file()}
	if t.Resource == "cpu" && t.Full && filepath.Dir(m.path) == system {
		return nil, &Error{Trigger: t, Path: m.path, Err: unix.EINVAL, Hint: cpuFull}
	}
	// Not os.OpenFile: Go's network poller would see a pressure file as always ready.
	fd, err := unix.Open(m.path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, explainOpen(t, m.path, err)
	}
	m.file = os.NewFile(uintptr(fd), m.path)
	// The text ends with a NUL byte, because older kernels overwrite the last byte.
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

// file returns the path of the trigger's pressure file. Its name differs between a control group
// and the whole system.
func (t Trigger) file() string {
	if t.Place == "" || filepath.Clean(t.Place) == system {
		return filepath.Join(system, t.Resource)
	}
	return filepath.Join(t.Place, t.Resource+".pressure")
}

// Wait returns nil at the next alarm, or immediately if one has come since the last call. The error
// is the context's if ctx is done first, or an *Error such as ErrGone.
//
// Wait blocks a thread while it waits.
func (m *Monitor) Wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		// The write fails only if the eventfd's counter is full, and then poll has been woken
		// already.
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

// Pending reports, without waiting, whether an alarm has come since the last one that Wait or
// Pending reported.
func (m *Monitor) Pending() (bool, error) { return m.poll(0) }

// poll waits for an alarm or a cancellation. The kernel reports each alarm once, so that poll
// consumes it.
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

// canBe reports whether an alarm can be true. Since Linux 6.5 the first alarm of an unprivileged
// trigger can count all stalls since boot: psi_trigger_create (kernel/sched/psi.c) starts it with
// the total of another kind of trigger.
func (m *Monitor) canBe() bool {
	if !m.real {
		now, err := m.Stalled()
		m.real = err != nil || now-m.before >= m.Trigger.Threshold
	}
	return m.real
}

// Stalled returns the time that the kernel has counted as stalled so far. Only the difference
// between two calls has a meaning.
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
