package offcpu

import (
	"fmt"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/questions"
	"github.com/ringtap/ringtap/internal/table"
)

// Open makes the collector of a run, without waits shorter than shortest, and with the stacks
// of who woke the threads if wakers is set. See Options.Waits.
func Open(run *questions.Run, shortest time.Duration, wakers bool, waits func(*process.Table) WaitReader) ([]table.Collector, error) {
	opts := Options{Whole: run.Whole(), Min: shortest, Stacks: run.Stacks(), Waits: waits}
	opts.Stacks.Moments, opts.Stacks.Beyond = opts.Stacks.User, opts.Stacks.User
	var err error
	if opts.Switch, opts.Waking, err = formats(run, wakers); err != nil {
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

// formats reads the formats of the tracepoints. Where they cannot be read, as by an
// ordinary user, waits are seen without; wakers are not.
func formats(run *questions.Run, wakers bool) (switches, waking *ftrace.Format, err error) {
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
