package main

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/questions/offcpu"
	"github.com/ringtap/ringtap/internal/table"
)

const offCPUUsage = `off-cpu [flags] [-- COMMAND ARG...]

Adds up the time that threads wait, by process and call stack: from the switch away
from a thread to the switch back to it. Voluntary waits and preemption stand apart.

  ringtap off-cpu -d 10                    the whole host
  ringtap off-cpu -p 4242 --min 1000       one process, waits of a millisecond and longer
  ringtap off-cpu --wakers -d 10           and who woke them
  ringtap off-cpu --out w.html -- ./prog   a command, as a flame graph

Waits that began before the run count from its begin, without a stack; those that
go on at its end count up to it. A thread that waits during the whole run counts
where a process, thread or control group is watched (-p, -t, -g), with the kernel
functions that it is in; on the whole host, where thousands do nothing all the time,
it does not.
`

// offCPU is the question of off-cpu.
type offCPU struct {
	min    uint64 // microseconds
	wakers bool
}

func (q *offCPU) flags(flags *pflag.FlagSet) {
	flags.Uint64Var(&q.min, "min", 0, "off-cpu: leave out waits shorter than this many `microseconds`")
	flags.BoolVar(&q.wakers, "wakers", false, "off-cpu: show on top of each stack the one that woke it, upside down; with -p, -t, -g or a command not all wakers from elsewhere are seen")
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
	opts := offcpu.Options{Whole: a.wholeSystem(), Min: time.Duration(q.min) * time.Microsecond, Stacks: a.stacks()}
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
	case a.pid != 0:
		opts.Watched = []int{a.pid}
	case a.tid != 0:
		opts.Watched, opts.Threads = []int{a.tid}, []int{a.tid}
	case a.cgroup != "":
		opts.Group = a.cgroup
	case a.command != nil:
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
