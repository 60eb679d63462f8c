package perfevent

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// favour gives a thread that reads rings most of a CPU that others want too, while one
// is more than half full, and the one that handles records while many wait. Where all
// CPUs are busy with what is recorded, a reader with the share of others would lose a
// part of it; one with more would slow them for nothing where it keeps up.
type favour struct {
	on      bool
	nice    int  // of the thread but for us
	refused bool // it takes CAP_SYS_NICE
}

// nicer is by how much: ten times the weight of others (sched_prio_to_weight in
// kernel/sched/core.c).
const nicer = 10

// set favours the caller's thread, and keeps the caller on it until it no longer does:
// the runtime changes between threads for each wait of a goroutine that is kept on one.
func (f *favour) set(on bool) {
	switch {
	case f.on == on || f.refused:
	case on:
		runtime.LockOSThread()
		n, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
		f.nice = 20 - n // as the system call has it
		if err == nil {
			err = unix.Setpriority(unix.PRIO_PROCESS, 0, max(f.nice-nicer, -20))
		}
		f.on, f.refused = err == nil, err != nil
		if f.refused {
			runtime.UnlockOSThread()
		}
	case unix.Setpriority(unix.PRIO_PROCESS, 0, f.nice) == nil:
		runtime.UnlockOSThread()
		f.on = false
	}
}
