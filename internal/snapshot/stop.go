package snapshot

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
)

// stopped looks at threads while ptrace(2) holds them all: their user stacks are of
// one moment, and of threads that run exact as well. What they waited for is read
// before, since a thread that is stopped waits for nothing else. One in
// uninterruptible sleep does not stop, but neither does it move.
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
				l.user.waiting(t) // for the tables alone, which else were made while it stands still
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
		t.switches = 0 // being stopped counts
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

// whyNotStopped says who keeps us from it.
func (l *look) whyNotStopped(err error) error {
	switch tracer := l.snapshot.Tracer; {
	case !errors.Is(err, unix.EPERM):
		return err
	case tracer != 0:
		return fmt.Errorf("%w: process %d %s traces it; run without --stop", err, tracer, l.host().Comm(tracer))
	}
	return fmt.Errorf("%w: run as root or as the process's user, or without --stop", err)
}

// onThread calls f on an OS thread that ends with it. ptrace(2) belongs to a thread, and
// the kernel lets go of all that one has held as it ends: also of what did not stop in
// time, which would stand still later.
func onThread(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != unix.Getpid() {
			result <- f()
			return // locked, by which the thread ends
		}
		defer runtime.UnlockOSThread() // the main thread would not
		result <- onThread(f)
	}()
	return <-result
}

// held are threads that ptrace(2) holds for the calling OS thread, each with the signal
// that it was about to get: it gets that as it is let go.
type held map[int]unix.Signal

// stop stops threads. One that has ended meanwhile is no error.
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
	for tid := range h {
		h[tid] = await(tid)
	}
	return h, nil
}

// maxStopping is how long a thread may take to stop: one that came into
// uninterruptible sleep just now does not.
const maxStopping = 100 * time.Millisecond

// await waits until a thread stands still, and returns the signal that stopped it before
// we could.
func await(tid int) unix.Signal {
	end := time.Now().Add(maxStopping)
	// The last look is one after the end: we may have been off the CPU until then.
	for over := false; !over; time.Sleep(20 * time.Microsecond) {
		over = time.Now().After(end)
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

// release lets the threads go on. One that did not stop can't be let go: see onThread.
func (h held) release() {
	for tid, signal := range h {
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(tid), 0, uintptr(signal), 0, 0)
		if errno == 0 {
			delete(h, tid)
		}
	}
}
