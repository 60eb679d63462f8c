package helper

import (
	"unsafe" // also required for go:linkname

	"golang.org/x/sys/unix"
)

// detach takes the calling goroutine's thread away from Go's scheduler for good. The goroutine
// must be locked to the thread.
//
// Otherwise the scheduler's monitor (sysmon) preempts any goroutine that it has seen running
// for 10 ms. It did that to up to a tenth of the visits at 99 Hz, for 50 µs or more, and the
// sampled thread ran during that time. (The monitor wakes up when a system call ends. Its request takes
// effect at the next function call, or by a signal.)
//
// After detach, the thread may make raw system calls only, and it must never block in Go: the
// runtime would throw. The process must not collect garbage, or stop the world for any other
// reason: the runtime would wait forever for this thread.
func detach() {
	procPin()
	blocked := uint64(1) << (unix.SIGURG - 1) // the monitor's signal would interrupt epoll_pwait(2)
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_BLOCK, uintptr(unsafe.Pointer(&blocked)), 0, unsafe.Sizeof(blocked), 0, 0)
}

// procPin keeps the goroutine on its thread and its P. The runtime keeps this function
// available to linkname (go.dev/issue/67401).
//
//go:linkname procPin runtime.procPin
func procPin() int
