package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/questions/offcpu"
	"github.com/ringtap/ringtap/internal/table"
)

const offCPUUsage = `off-cpu [options] [COLLECTOR...] [-- COMMAND ARG...]

Add up the time that threads wait, by process and call stack: from the switch away from a
thread to the switch back to it. Voluntary waits and preemption have columns of their own.

  ringtap off-cpu -d 10                    the whole host
  ringtap off-cpu -p 4242 --min 1000       one process, waits of a millisecond and longer
  ringtap off-cpu --wakers -d 10           with the stacks that woke the threads
  ringtap off-cpu --out w.html -- ./prog   a command, as a flame graph

A wait that began before the run counts from the start of the run, without a stack. A wait
that goes on at the end counts up to the end. A thread that waits during the whole run
counts if you watch a process, a thread or a control group (-p, -t, -g), with the kernel
functions it is in. It does not count if you watch the whole host, where thousands of
threads wait all the time.
`

// offCPU is the question of off-cpu.
type offCPU struct {
	min    uint64 // microseconds
	wakers bool
}

func (q *offCPU) flags(flags *pflag.FlagSet) {
	flags.Uint64Var(&q.min, "min", 0, "off-cpu: leave out waits shorter than `MICROSECONDS`")
	flags.BoolVar(&q.wakers, "wakers", false, "off-cpu: put the waker's stack on top of each stack, upside down; with -p, -t, -g or a command, ringtap does not see all wakers from elsewhere")
}

func (q *offCPU) take(args []string) ([]string, error) { return args, nil }

// maxMin is the most microseconds whose nanoseconds a Duration counts.
const maxMin = uint64(1<<63-1) / 1000

func (q *offCPU) validate() error {
	if q.min > maxMin {
		return usagef("--min %d: at most %d microseconds", q.min, maxMin)
	}
	return nil
}

func (q *offCPU) make(a *asking) ([]table.Collector, error) {
	opts := offcpu.Options{Whole: a.Whole(), Min: time.Duration(q.min) * time.Microsecond, Stacks: a.stacks()}
	var err error
	if opts.Switch, opts.Waking, err = q.formats(a); err != nil {
		return nil, err
	}
	switch {
	case opts.Whole && opts.Switch != nil:
		if opts.Blind, err = blindCPUs(a, opts.Switch); err != nil {
			return nil, err
		}
		if len(opts.Blind) > 0 {
			a.out.logger(a.verbose).Info("off-cpu: the kernel's own records of switches where the idle task is not seen", "cpus", opts.Blind)
		}
	case a.PIDs != nil:
		opts.Watched = a.PIDs
	case a.TID != 0:
		opts.Watched, opts.Threads = []int{a.TID}, []int{a.TID}
	case a.Cgroup != "":
		opts.Group = a.Cgroup
	case a.Command != nil:
		opts.Held = a.started.PID()
	}
	collector, err := offcpu.New(opts)
	if err != nil {
		return nil, err
	}
	return []table.Collector{collector}, nil
}

// formats reads the formats of the tracepoints. Where they cannot be read, as by an
// ordinary user, waits are seen without; wakers are not.
func (q *offCPU) formats(a *asking) (switches, waking *ftrace.Format, err error) {
	tracefs, _, err := ftrace.Mount()
	if err == nil {
		switches, err = tracefs.Format("sched", "sched_switch")
	}
	if err == nil && q.wakers {
		waking, err = tracefs.Format("sched", "sched_waking")
	}
	if err != nil && q.wakers {
		return nil, nil, fmt.Errorf("--wakers needs tracepoints: %w", err)
	}
	if err != nil {
		a.out.logger(a.verbose).Info("off-cpu: without tracepoints", "reason", err)
		return nil, nil, nil
	}
	return switches, waking, nil
}
