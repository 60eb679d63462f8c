package near

import (
	"runtime"
	"unsafe" // and for linkname

	"golang.org/x/sys/unix"
)

// detach takes the caller's thread out of the hands of Go's scheduler for good, as long as
// it makes no system calls but raw ones. The scheduler's monitor otherwise asks a goroutine
// that it has not seen in the scheduler for 10 ms to leave its thread: at 99 Hz up to a
// tenth of the visits were interrupted by that, for 50 µs and more, and the sampled thread
// ran meanwhile. (Its request is made again when a system call ends, by a signal, and at
// the next function's begin.)
//
// A thread that can't be asked must not be in a process that collects garbage or stops its
// threads for anything else: those would wait for ever.
func detach() error {
	runtime.LockOSThread()
	procPin()
	blocked := uint64(1) << (unix.SIGURG - 1) // would end its wait every 10 ms
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_BLOCK, uintptr(unsafe.Pointer(&blocked)), 0, unsafe.Sizeof(blocked), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// procPin keeps the goroutine on its thread and its P. The runtime promises to leave it
// as it is (go.dev/issue/67401).
//
//go:linkname procPin runtime.procPin
func procPin() int
