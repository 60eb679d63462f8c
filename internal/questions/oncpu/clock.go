package oncpu

import (
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/profile"
)

// clock reads the kernel's count of the CPU time of the watched processes. The kernel
// counts each switch to and from a thread, so that its count is exact.
type clock struct {
	host    process.Host
	once    sync.Once             // of stopClock
	started map[int]time.Duration // by process, when the run began
	ran     time.Duration         // of all of them, during the run
	ended   bool                  // one could not be read when the run ended
}

// StartClock reads the clocks when the run begins.
func (c *Collector) StartClock() {
	c.clock.started = make(map[int]time.Duration)
	for _, pid := range c.Watched {
		if at, err := c.readClock(pid); err == nil {
			c.clock.started[pid] = at
		}
	}
}

// StopClock reads the clocks when the run ends. Only the first call acts.
func (c *Collector) StopClock() {
	c.clock.once.Do(func() {
		for _, pid := range c.Watched {
			at, err := c.readClock(pid)
			before, known := c.clock.started[pid]
			if err != nil || !known {
				c.clock.ended = true
				return
			}
			c.clock.ran += at - before
		}
	})
}

// readClock returns how long a process has run. A started command's time includes the
// children that it has waited for: all of them are its own, and were sampled. Another
// process may have had children before the run.
func (c *Collector) readClock(pid int) (time.Duration, error) {
	if c.Started {
		t, err := c.clock.host.CPUTime(pid)
		return t.User + t.System, err
	}
	// CPUCLOCK_SCHED of a process: see MAKE_PROCESS_CPUCLOCK in the kernel's posix-timers.h.
	const sched = 2
	var at unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|sched), &at); err != nil {
		return 0, fmt.Errorf("read the CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(at.Nano()), nil
}

// CPUTime returns how long the processes of a profile of the whole run ran, by the kernel's
// count. It is 0 if that is unknown: a process has ended, or a child that the clocks leave
// out has samples.
func (c *Collector) CPUTime(p *profile.Profile) time.Duration {
	if c.clock.started == nil || len(c.Watched) == 0 || c.clock.ended || c.UserOnly {
		return 0
	}
	for i := range p.Processes {
		pid := p.Processes[i].PID
		if slices.Contains(c.Watched, pid) {
			continue
		}
		// The clock of a command has the children that have ended.
		if _, err := c.clock.host.CPUTime(pid); !c.Started || err == nil {
			return 0
		}
	}
	return c.clock.ran
}

// DiffersNote returns a note if the samples show clearly more or less time than the kernel
// counted, and "" otherwise.
func (c *Collector) DiffersNote(sampled, ran time.Duration) string {
	if ran == 0 || (sampled-ran).Abs() <= c.uncertain(ran) {
		return ""
	}
	return fmt.Sprintf("the samples show %v of CPU time, and the kernel counted %v: a program that sleeps and wakes often is not sampled evenly. The shares are those of the samples",
		sampled.Round(time.Millisecond), ran.Round(time.Millisecond))
}

// uncertain is how far samples of that much CPU time may be from it: three standard
// deviations of their number, a twentieth, and the ticks that the kernel counts the time
// of each process in.
func (c *Collector) uncertain(used time.Duration) time.Duration {
	const ticks = 20 * time.Millisecond
	deviation := math.Sqrt(float64(used) / float64(c.period()))
	return max(used/20, time.Duration(3*deviation*float64(c.period()))) + ticks*time.Duration(len(c.Watched))
}
