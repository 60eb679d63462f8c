package snapshot

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
)

// stopped looks at threads while ptrace(2) stops them all. All user stacks are then of the same
// moment, and exact even for running threads. The calls that they wait in are read before, because
// a stopped thread no longer waits in them. A thread in uninterruptible sleep does not stop, but
// does not move either.
func (l *look) stopped(ctx context.Context, tids []int) error {
	var threads []*Thread
	var moving []int
	for _, tid := range tids {
		t, err := l.files.read(tid)
		if err != nil {
			continue
		}
		threads = append(threads, t)
		if t.State == 'D' || t.State == 'Z' {
			continue
		}
		moving = append(moving, tid)
		if t.State != 'R' {
			l.files.kernelStack(t)
			l.call(t)
			if l.arch != 0 {
				l.user.waiting(t) // only loads the unwind tables, to keep the stop short
			}
		}
	}
	begin := time.Now()
	held, err := stop(ctx, moving)
	defer held.release()
	if err != nil {
		return l.whyNotStopped(err)
	}
	for _, t := range threads {
		if _, is := held[t.TID]; !is {
			l.thread(t.TID)
			continue
		}
		t.switches = 0 // the stop itself counts as a switch
		l.add(t)
		if l.arch == 0 {
			continue
		}
		mask, values, err := registers(t.TID)
		if err != nil {
			t.Missing = fmt.Sprintf("it did not stop: %v", err)
			continue
		}
		var capture callchain.Capture
		if err := capture.Regs.Load(l.arch, mask, values); err != nil {
			return err
		}
		frames, end := l.user.unwind(&capture)
		if end == callchain.Lost && l.remap() {
			frames, end = l.user.unwind(&capture)
		}
		levels, why := l.interpreted(t, frames, end)
		l.standing(t, frames, end, levels, why)
	}
	held.release()
	l.snapshot.Stopped = time.Since(begin)
	return nil
}

// whyNotStopped adds the reason to an error of stop.
func (l *look) whyNotStopped(err error) error {
	switch tracer := l.snapshot.Tracer; {
	case !errors.Is(err, unix.EPERM):
		return err
	case tracer != 0:
		return fmt.Errorf("%w: process %d %s traces it; run without --stop", err, tracer, l.host().Comm(tracer))
	}
	return fmt.Errorf("%w: run as root or as the process's user, or without --stop", err)
}

// onThread calls f on an OS thread that exits afterwards. ptrace(2) attaches to a thread, and the
// kernel releases all that a thread has attached to when it exits. That includes threads that did
// not stop in time and would otherwise stop later.
func onThread(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			result <- f()
			return // still locked, which makes the thread exit
		}
		defer runtime.UnlockOSThread() // the main thread must not exit
		result <- onThread(f)
	}()
	return <-result
}

// held are the threads that the calling OS thread has stopped with ptrace(2). The value is the
// signal that the thread was about to receive. release delivers it.
type held map[int]unix.Signal

// stop stops threads. A thread that has ended meanwhile is not an error.
func stop(ctx context.Context, tids []int) (held, error) {
	h := make(held)
	for _, tid := range tids {
		err := unix.PtraceSeize(tid)
		if err == nil {
			h[tid] = 0
			err = unix.PtraceInterrupt(tid)
		}
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return h, fmt.Errorf("stop thread %d: %w", tid, err)
		}
		if ctx.Err() != nil {
			return h, ctx.Err()
		}
	}
	begin := time.Now()
	for tid := range h {
		h[tid] = await(tid, begin)
	}
	return h, nil
}

// maxStopping is how long all threads may take to stop, maxRunnable how long those may that are
// runnable: they stop when they get a CPU, which takes long beside many busy threads. A thread that has
// just entered uninterruptible sleep does not stop. Meanwhile the others stand still.
const (
	maxStopping = 100 * time.Millisecond
	maxRunnable = time.Second
)

// await waits until a thread has stopped that was told so at begin. It returns the signal that stopped
// the thread before ptrace could, or 0.
func await(tid int, begin time.Time) unix.Signal {
	for over := false; !over; time.Sleep(20 * time.Microsecond) {
		// Check once more after the end, because this thread may have been off the CPU until then.
		waited := time.Since(begin)
		over = waited > maxRunnable || waited > maxStopping && !isRunnable(tid)
		var status unix.WaitStatus
		got, err := unix.Wait4(tid, &status, unix.WNOHANG|unix.WALL, nil)
		switch {
		case got == tid && status.Stopped() && status>>16 == 0: // no PTRACE_EVENT_STOP
			return status.StopSignal()
		case got == tid, err != nil && err != unix.EINTR:
			return 0
		}
	}
	return 0
}

// isRunnable reports whether a thread runs or waits for a CPU.
func isRunnable(tid int) bool {
	stat, err := process.Host{}.Stat(strconv.Itoa(tid))
	return err == nil && stat.State == 'R'
}

// release lets the threads continue. A thread that did not stop stays in h: see onThread.
func (h held) release() {
	for tid, signal := range h {
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(tid), 0, uintptr(signal), 0, 0)
		if errno == 0 {
			delete(h, tid)
		}
	}
}
