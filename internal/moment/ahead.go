package moment

import "golang.org/x/sys/unix"

// ahead is how much lower the nice value is of the thread that looks. On a busy host others would have it
// wait for longer than most waits last. It is no lower, as that thread itself may wait for one that is not
// ahead, such as for a lock of Go's runtime.
const ahead = 10

// goAhead has the scheduler prefer the caller's thread, which must be locked, until back is called. An
// ordinary user's is not preferred.
func goAhead() (back func()) {
	priority, err := unix.Getpriority(unix.PRIO_PROCESS, 0)
	if err != nil {
		return func() {}
	}
	nice := 20 - priority // as the system call has it
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, nice-ahead)
	return func() { _ = unix.Setpriority(unix.PRIO_PROCESS, 0, nice) }
}
