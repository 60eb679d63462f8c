package perfevent

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// niceThread has a lower nice value than others, and so most of a CPU that they want too:
// the thread that reads rings while one is more than half full, and the one that handles
// records while many wait. Where all CPUs are busy with what is recorded, a reader with the
// share of others would lose a part of it; one with more would slow them for nothing where
// it keeps up.
type niceThread struct {
	on      bool
	nice    int  // of the thread but for us
	refused bool // it takes CAP_SYS_NICE
}

// nicer is how much lower: ten times the weight of others (sched_prio_to_weight in
// kernel/sched/core.c).
const nicer = 10

// set lowers the nice value of the caller's thread, and keeps the caller on it until it is
// what it was: the runtime changes between threads for each wait of a goroutine that is
// kept on one.
func (t *niceThread) set(on bool) {
	switch {
	case t.on == on || t.refused:
	case on:
		runtime.LockOSThread()
		n, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
		t.nice = 20 - n // as the system call has it
		if err == nil {
			err = unix.Setpriority(unix.PRIO_PROCESS, 0, max(t.nice-nicer, -20))
		}
		t.on, t.refused = err == nil, err != nil
		if t.refused {
			runtime.UnlockOSThread()
		}
	case unix.Setpriority(unix.PRIO_PROCESS, 0, t.nice) == nil:
		runtime.UnlockOSThread()
		t.on = false
	}
}
