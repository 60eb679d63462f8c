package near

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Rung is how a CPU's thread runs. Where rights are missing it is a lower one.
type Rung uint8

// The rungs, the lowest first.
const (
	Unpinned Rung = iota // a thread like others: the kernel refuses to pin it
	Pinned               // to the CPU
	Nice                 // pinned, with nice value -20
	FIFO                 // pinned, SCHED_FIFO with priority 1
)

// String names the rung.
func (r Rung) String() string {
	return [...]string{"not pinned", "pinned", "pinned with nice -20", "pinned with SCHED_FIFO 1"}[r]
}

// climb makes the caller's thread, which must be locked, what it may be.
func climb(cpu int, highest Rung) Rung {
	if highest == Unpinned || !pin(cpu) {
		return Unpinned
	}
	if highest >= FIFO {
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1, Flags: unix.SCHED_FLAG_RESET_ON_FORK}
		if unix.SchedSetAttr(0, &attr, 0) == nil {
			return FIFO
		}
	}
	if highest >= Nice && unix.Setpriority(unix.PRIO_PROCESS, 0, -20) == nil {
		return Nice
	}
	return Pinned
}

// pin binds the caller's thread to a CPU.
func pin(cpu int) bool {
	var set unix.CPUSet
	set.Set(cpu)
	_, _, errno := unix.RawSyscall(unix.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
	return errno == 0
}

// isOn tells whether the caller's thread is on a CPU: the kernel moves it where the CPU goes
// offline.
func isOn(cpu int) bool {
	var on uint32
	_, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&on)), 0, 0)
	return errno == 0 && int(on) == cpu
}

// isRealTime tells whether a thread is a real-time one.
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

const resetOnFork = 0x40000000 // SCHED_RESET_ON_FORK of include/uapi/linux/sched.h

// threadTime returns the CPU time of the caller's thread in nanoseconds.
func threadTime() uint64 {
	var t unix.Timespec
	_, _, _ = unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_THREAD_CPUTIME_ID, uintptr(unsafe.Pointer(&t)), 0)
	return uint64(t.Nano())
}
