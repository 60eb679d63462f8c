package helper

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// SchedClass says how the kernel schedules one of the child's threads. The higher the class,
// the more likely the thread runs before the sampled thread does.
type SchedClass uint8

// The classes, in rising order. A thread has the highest one that its rights allow.
const (
	Unpinned SchedClass = iota // the kernel refused to pin the thread to its CPU
	Pinned                     // pinned to the CPU, with the caller's nice value
	Nice                       // pinned, with nice value -20
	FIFO                       // pinned, with SCHED_FIFO priority 1
)

// String describes the class in a few words.
func (c SchedClass) String() string {
	return [...]string{"not pinned", "pinned", "pinned with nice -20", "pinned with SCHED_FIFO 1"}[c]
}

// setSchedClass gives the calling thread the highest class up to limit that its rights allow,
// and returns that class. The goroutine must be locked to the thread.
func setSchedClass(cpu int, limit SchedClass) SchedClass {
	if limit == Unpinned || !pin(cpu) {
		return Unpinned
	}
	if limit >= FIFO {
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
		if unix.SchedSetAttr(0, &attr, 0) == nil {
			return FIFO
		}
	}
	if limit >= Nice && unix.Setpriority(unix.PRIO_PROCESS, 0, -20) == nil {
		return Nice
	}
	return Pinned
}

// The functions below make raw system calls, because a detached thread may make no others. See
// detach.

// pin binds the calling thread to a CPU and reports whether the kernel allowed it.
func pin(cpu int) bool {
	var set unix.CPUSet
	set.Set(cpu)
	_, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
	return errno == 0
}

// isOnCPU reports whether the calling thread runs on cpu. A pinned thread does not if its CPU
// went offline: the kernel then moves the thread.
func isOnCPU(cpu int) bool {
	var current uint32
	_, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&current)), 0, 0)
	return errno == 0 && int(current) == cpu
}

// isRealTime reports whether a thread has a real-time or deadline policy.
func isRealTime(tid uint32) bool {
	policy, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETSCHEDULER, uintptr(tid), 0, 0)
	if errno != 0 {
		return false
	}
	switch policy &^ resetOnFork {
	case unix.SCHED_FIFO, unix.SCHED_RR, unix.SCHED_DEADLINE:
		return true
	}
	return false
}

const resetOnFork = 0x40000000 // SCHED_RESET_ON_FORK in include/uapi/linux/sched.h

// threadCPUTime returns the CPU time that the calling thread has used, in nanoseconds.
func threadCPUTime() uint64 {
	var t unix.Timespec
	_, _, _ = unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_THREAD_CPUTIME_ID, uintptr(unsafe.Pointer(&t)), 0)
	return uint64(t.Nano())
}
