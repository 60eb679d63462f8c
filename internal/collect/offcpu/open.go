package offcpu

import (
	"fmt"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
)

// Open returns the collector of a run. Waits shorter than shortest do not count. wakers adds the
// stack of the thread that woke each one. For waits, see Options.Waits.
func Open(run *collect.Run, shortest time.Duration, wakers bool, waits func(*process.Table) WaitReader) ([]table.Collector, error) {
	opts := Options{Whole: run.Whole(), min: shortest, Stacks: run.Stacks(), Waits: waits}
	opts.Stacks.Interpreted, opts.Stacks.Beyond = opts.Stacks.User, opts.Stacks.User
	var err error
	if opts.Switch, opts.waking, err = formats(run, wakers); err != nil {
		return nil, err
	}
	switch {
	case opts.Whole && opts.Switch != nil:
		if opts.Blind, err = run.BlindCPUs(opts.Switch); err != nil {
			return nil, err
		}
		if len(opts.Blind) > 0 {
			run.Logger.Info("off-cpu: the kernel's own records of switches where the idle task is not seen", "cpus", opts.Blind)
		}
	case run.PIDs != nil:
		opts.Watched = run.PIDs
	case run.TID != 0:
		opts.Watched, opts.Threads = []int{run.TID}, []int{run.TID}
	case run.Cgroup != "":
		opts.Group = run.Cgroup
	case run.Started != nil:
		opts.Held = run.Started.PID()
	}
	collector, err := New(opts)
	if err != nil {
		return nil, err
	}
	return []table.Collector{collector}, nil
}

// formats reads the formats of the tracepoints. If that fails, as for ordinary users, switches are
// nil: waits are seen without them. Wakers then are an error.
func formats(run *collect.Run, wakers bool) (switches, waking *ftrace.Format, err error) {
	tracefs, _, err := ftrace.Mount()
	if err == nil {
		switches, err = tracefs.Format("sched", "sched_switch")
	}
	if err == nil && wakers {
		waking, err = tracefs.Format("sched", "sched_waking")
	}
	switch {
	case err == nil:
		return switches, waking, nil
	case wakers:
		return nil, nil, fmt.Errorf("--wakers needs tracepoints: %w", err)
	}
	run.Logger.Info("off-cpu: without tracepoints", "reason", err)
	return nil, nil, nil
}
