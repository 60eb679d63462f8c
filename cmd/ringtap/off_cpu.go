package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/offcpu"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/snapshot"
)

const offCPUUsage = `off-cpu [options] [COLLECTOR...] [-- COMMAND ARG...]

Add up the time that threads wait, by process and call stack: from the switch away from a
thread to the switch back to it. Voluntary waits and preemption have columns of their own.

  ringtap off-cpu -d 10                    the whole host
  ringtap off-cpu -p 4242 --min 1000       one process, waits of a millisecond and longer
  ringtap off-cpu --wakers -d 10           with the stacks that woke the threads
  ringtap off-cpu --out w.html -- ./prog   a command, as a flame graph

A wait that began before the run counts from the start of the run. A wait that goes on at
the end counts up to the end. A thread that waits during the whole run counts if you watch
a process, a thread or a control group (-p, -t, -g). It does not count if you watch the
whole host, where thousands of threads wait all the time.

In the report, threads that a runtime has no work for are one line at the end and count in no
share: [Go scheduler idle], [JVM idle], [Node.js idle]. Tables and files have their stacks. A
goroutine that waits for a channel, a mutex, a timer or the network blocks no thread, so its
wait is not here: "ringtap stack" shows it.

Functions of Python 3.6 to 3.15, PHP, Ruby and Perl have their names and files without any flag
of theirs. ringtap looks every 2 ms which threads wait, reads their calls, and then makes sure
that they waited all that time. Most waits shorter than 2 ms are over by then: their stacks
show the interpreter's own functions. A note says how many stacks were read.
`

type offCPU struct {
	plain
	min    uint64 // microseconds
	wakers bool
}

func (q *offCPU) flags(flags *pflag.FlagSet) {
	flags.Uint64Var(&q.min, "min", 0, "off-cpu: leave out waits shorter than `MICROSECONDS`")
	flags.BoolVar(&q.wakers, "wakers", false, "off-cpu: put the waker's stack on top of each stack, upside down, or [interrupt] if no thread woke it; with -p, -t, -g or a command, ringtap does not see all wakers from elsewhere")
}

// maxMin is the largest --min in microseconds: a time.Duration must hold it.
const maxMin = uint64(1<<63-1) / 1000

func (q *offCPU) validate() error {
	if q.min > maxMin {
		return usagef("--min %d: at most %d microseconds", q.min, maxMin)
	}
	return nil
}

func (q *offCPU) open(run *collect.Run) ([]table.Collector, error) {
	waits := func(processes *process.Table) offcpu.WaitReader { return snapshot.NewWaits(processes) }
	return offcpu.Open(run, time.Duration(q.min)*time.Microsecond, q.wakers, waits)
}
