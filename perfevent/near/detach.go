package near

import (
	"unsafe" // and for linkname

	"golang.org/x/sys/unix"
)

// detach takes the caller's thread, which is locked, out of the hands of Go's scheduler for
// good. The scheduler's monitor otherwise asks a goroutine that it has not seen in the
// scheduler for 10 ms to leave its thread: at 99 Hz up to a tenth of the visits were
// interrupted by that, for 50 µs and more, and the sampled thread ran meanwhile. (The monitor
// wakes when a system call ends. Its request waits until a function begins, or comes by
// a signal.)
//
// From then on the thread makes raw system calls only and never waits in Go: the runtime
// would throw. And the process must not collect garbage or stop its threads for anything
// else: that would wait for ever.
func detach() {
	procPin()
	blocked := uint64(1) << (unix.SIGURG - 1) // the monitor's signal would end a wait
	_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_BLOCK, uintptr(unsafe.Pointer(&blocked)), 0, unsafe.Sizeof(blocked), 0, 0)
}

// procPin keeps the goroutine on its thread and its P. The runtime promises to leave it
// as it is (go.dev/issue/67401).
//
//go:linkname procPin runtime.procPin
func procPin() int
