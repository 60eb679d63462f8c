// Package questions has what collectors are made for: a run that is being prepared. Each
// collector has a package below it, whose Open makes it.
//
//	flags → Run ─┬→ oncpu.Open, io.Open, … → table.Collectors → a run → Run.Close
//	             └→ target, stacks, notes
package questions

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/target"
	"github.com/ringtap/ringtap/perfevent"
)

// Run is a run that is being prepared.
type Run struct {
	*target.Target
	Watched perfevent.Target // the same as events have it
	// Started is the command that is run, held until the events are armed; nil
	// where there is none.
	Started *perfevent.Command

	// User and Kernel are the kinds of stack that were asked for; neither stands for both.
	User, Kernel bool
	Unwind       stack.Unwind
	Frequency    uint64 // of samples of time, a second on each CPU

	Stderr io.Writer         // is told how it went, when it is over
	Note   func(text string) // is told what the report lacks, before it begins
	Logger *slog.Logger

	closers []func() error
}

// Closing has a function called when the run is over and its events are closed, the
// last one first.
func (r *Run) Closing(f func() error) { r.closers = append(r.closers, f) }

// Say has a function write to Stderr when the run is over; see Closing.
func (r *Run) Say(f func(w io.Writer)) {
	r.Closing(func() error { f(r.Stderr); return nil })
}

// Close ends what was made for the run.
func (r *Run) Close() error {
	var errs []error
	for _, f := range slices.Backward(r.closers) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// Stacks are the kinds of stack that were asked for.
func (r *Run) Stacks() stack.Stacks {
	return stack.Stacks{User: r.User || !r.Kernel, Kernel: r.Kernel || !r.User, Unwind: r.Unwind}
}

// Processes are the processes that are watched, where the target is processes.
func (r *Run) Processes() []int {
	if r.Started != nil {
		return []int{r.Started.PID()}
	}
	return r.PIDs
}

// View is the processes as which files are looked for.
func (r *Run) View() (probe.View, error) { return probe.ViewOf(r.Roots, r.TID, r.Cgroup) }

// BlindCPUs is the function of that name, and keeps the tracepoint of switches in use until
// the run is over. When the last event of a tracepoint is closed the kernel waits until all
// CPUs have passed by, a second and more on a busy host, and the run's own events could
// not be opened meanwhile.
func (r *Run) BlindCPUs(switches *ftrace.Format) ([]int, error) {
	event := perfevent.Tracepoint(uint64(switches.ID), "sched:sched_switch")
	if idle, err := perfevent.OpenCounters(perfevent.System(), []perfevent.Event{event}, perfevent.Options{}); err == nil {
		r.Closing(idle.Close) // it was never enabled and counts nothing
	}
	return BlindCPUs(switches)
}

// NoteBlind notes what may be missed by tracepoints of what the kernel does while a CPU
// is idle, which some machines don't trace: much of what is freed by RCU is freed
// then, and disks complete requests. What can't be found out is not said.
func (r *Run) NoteBlind(tracefs *ftrace.FS, missed string) {
	format, err := tracefs.Format("sched", "sched_switch")
	if err != nil {
		return
	}
	if blind, err := r.BlindCPUs(format); err == nil && len(blind) > 0 {
		r.Note(fmt.Sprintf("this kernel may not trace CPU %s while it is idle: %s",
			strings.ReplaceAll(strings.Trim(fmt.Sprint(blind), "[]"), " ", ", "), missed))
	}
}
