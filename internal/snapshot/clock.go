package snapshot

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// clocks are the scheduler's clocks, one for each CPU. They stop while a hypervisor runs other
// guests, and differ by many seconds.
type clocks map[int]time.Duration // CLOCK_MONOTONIC minus the CPU's clock

// now returns the time of a CPU's clock. ok is false if it is unknown.
func (c clocks) now(cpu int) (time.Duration, bool) {
	ahead, ok := c[cpu]
	if !ok {
		if ahead, ok = compare(cpu); !ok {
			return 0, false
		}
		c[cpu] = ahead
	}
	return monotonic() - ahead, true
}

func monotonic() time.Duration { return time.Duration(perfevent.Now()) }

// compare moves to a CPU briefly and compares its clock with CLOCK_MONOTONIC. The scheduler tells
// when a thread last ran, which is now for the calling thread. The value is old if the thread lost
// the CPU before it read the other clock, so compare uses the shortest of several tries.
func compare(cpu int) (ahead time.Duration, ok bool) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, only unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return 0, false
	}
	only.Set(cpu)
	if err := unix.SchedSetaffinity(0, &only); err != nil {
		return 0, false
	}
	defer unix.SchedSetaffinity(0, &before)
	const tries, short = 10, time.Millisecond
	for took, i := time.Duration(0), 0; i < tries && (i == 0 || took > short); i++ {
		begin := monotonic()
		text, err := process.Host{}.ReadFile("thread-self/sched")
		if err != nil {
			return 0, false
		}
		end := monotonic()
		ran, known := schedValue(text, "se.exec_start")
		if !known {
			return 0, false
		}
		if i == 0 || end-begin < took {
			took, ahead, ok = end-begin, end-ran, true
		}
	}
	return ahead, ok
}
