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

// clock reads the kernel's count of the CPU time of the watched processes. The count is exact,
// because the kernel updates it at each switch to and from a thread.
type clock struct {
	host    process.Host
	once    sync.Once             // of stopClock
	started map[int]time.Duration // by process, when the run began
	ran     time.Duration         // of all processes, during the run
	ended   bool                  // some process could not be read at the end of the run
}

// StartClock implements table.Clocked.
func (c *Collector) StartClock() {
	c.clock.started = make(map[int]time.Duration)
	for _, pid := range c.Watched {
		if at, err := c.readClock(pid); err == nil {
			c.clock.started[pid] = at
		}
	}
}

// StopClock implements table.Clocked.
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

// readClock returns how long a process has run. For a command that ringtap started, it includes the
// children that have been waited for: all of them were sampled. Other processes may have had
// children before the run.
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

// CPUTime implements table.Clocked. It returns 0 if a process has ended, or if a child has samples
// but the clocks leave it out.
func (c *Collector) CPUTime(p *profile.Profile) time.Duration {
	if c.clock.started == nil || len(c.Watched) == 0 || c.clock.ended || c.UserOnly {
		return 0
	}
	for i := range p.Processes {
		pid := p.Processes[i].PID
		if slices.Contains(c.Watched, pid) {
			continue
		}
		// The clock of a command includes children that have ended.
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

// uncertain returns how far samples may differ from used by chance: three standard deviations of
// their number or a twentieth, plus the resolution in which the kernel counts each process.
func (c *Collector) uncertain(used time.Duration) time.Duration {
	const ticks = 20 * time.Millisecond
	deviation := math.Sqrt(float64(used) / float64(c.period()))
	return max(used/20, time.Duration(3*deviation*float64(c.period()))) + ticks*time.Duration(len(c.Watched))
}
