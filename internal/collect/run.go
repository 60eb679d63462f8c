// Package collect prepares a run of collectors. Each collector is a package below it, and its
// function Open makes the collector. Package profiler runs them.
//
//	flags → Run ─┬→ oncpu.Open, io.Open, … → table.Collectors → a run → Run.Close
//	             └→ target, stacks, notes
package collect

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/cli/target"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Run is a run in preparation.
type Run struct {
	*target.Target
	Watched perfevent.Target // the target, as perfevent wants it
	// Started is the command that ringtap started. It is held until the events are enabled. It is
	// nil if there is none.
	Started *perfevent.Command

	// User and Kernel are the kinds of stack that the user asked for. If neither is set, both are
	// used.
	User, Kernel bool
	Unwind       stack.Unwind
	Frequency    uint64 // of time-based sampling: samples per second on each CPU

	Stderr io.Writer         // gets the summary when the run is over
	Note   func(text string) // gets what the report lacks, before the run starts
	Logger *slog.Logger

	closers []func() error
}

// Closing registers a function to call when the run is over and its events are closed. The last one
// registered is called first.
func (r *Run) Closing(f func() error) { r.closers = append(r.closers, f) }

// Say registers a function that writes to Stderr when the run is over: see Closing.
func (r *Run) Say(f func(w io.Writer)) {
	r.Closing(func() error { f(r.Stderr); return nil })
}

// Close calls the functions that Closing registered.
func (r *Run) Close() error {
	var errs []error
	for _, f := range slices.Backward(r.closers) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// Stacks returns the kinds of stack that the user asked for.
func (r *Run) Stacks() stack.Stacks {
	return stack.Stacks{User: r.User || !r.Kernel, Kernel: r.Kernel || !r.User, Unwind: r.Unwind}
}

// Processes returns the PIDs of the watched processes; nil if the target is not processes.
func (r *Run) Processes() []int {
	if r.Started != nil {
		return []int{r.Started.PID()}
	}
	return r.PIDs
}

// View returns the processes through whose eyes file names are resolved.
func (r *Run) View() (probe.View, error) { return probe.ViewOf(r.Roots, r.TID, r.Cgroup) }

// BlindCPUs calls the function BlindCPUs, and keeps the tracepoint of switches in use until the run
// is over. When the last event of a tracepoint is closed, the kernel waits until all CPUs have
// scheduled. That takes a second or more on a busy host, and delays opening the run's own events.
func (r *Run) BlindCPUs(switches *ftrace.Format) ([]int, error) {
	event := perfevent.Tracepoint(uint64(switches.ID), "sched:sched_switch")
	if idle, err := perfevent.OpenCounters(perfevent.System(), []perfevent.Event{event}, perfevent.Options{}); err == nil {
		r.Closing(idle.Close) // never enabled, so that it counts nothing
	}
	return BlindCPUs(switches)
}

// NoteBlind notes that tracepoints may miss what the kernel does while a CPU is idle. Some machines
// don't trace that: RCU frees much memory then, and disks complete requests. If the check fails,
// there is no note.
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
