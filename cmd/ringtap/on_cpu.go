package main

import (
	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/collect/table"
)

const onCPUUsage = `on-cpu [options] [COLLECTOR...] [-- COMMAND ARG...]

Sample what runs on the CPUs and count it by call stack. ringtap samples hardware cycles
where the machine has them, and the clock elsewhere. Without a target it samples the whole
system.

  ringtap on-cpu -d 5                      the whole host for five seconds
  ringtap on-cpu -p 4242 --out cpu.html    a process until Ctrl-C, as a flame graph
  ringtap on-cpu -f 999 -- make -j4        a command from beginning to end
  ringtap on-cpu off-cpu -u -- ./prog      time on and off the CPUs, side by side

COLLECTOR is another collector that runs at the same time (off-cpu, memleak, io,
readahead, llc, probe SPEC). Their columns stand beside those of on-cpu, joined where the
stacks are equal.

With --unwind auto, ringtap copies up to 64 KiB of stack with each sample (32 KiB above 250
Hz) and unwinds it with the tables that every distribution ships (.eh_frame). Code without
frame pointers therefore shows whole stacks. Go code is unwound by Go's own tables.
Of a stack deeper than its copy, ringtap reads up to 1 MiB more while the thread stands still.
--unwind fp takes the kernel's frame-pointer walk, which is cheaper, and adds the caller
that this walk skips at the first instructions of a function.

Functions of Python 3.6 to 3.15, PHP, Ruby and Perl have their names and files without any flag
of theirs. A helper process, near-reader, reads the interpreter's calls at each sample, before
the thread runs on, and knows whether it was in time: the report says how many samples are
exact. Where it came late, "[interpreted functions read late]" stands on the stack. The helper
takes about 1% of a CPU at 99 Hz and 2% to 4% at 999 Hz, and 10% at most. To be exact it needs
root (CAP_PERFMON, CAP_SYS_PTRACE and CAP_SYS_NICE).

-T 'memory some 150000 2000000' waits until tasks have stalled on memory for 150 ms within
2 s (/proc/pressure, or the control group's own with -g), records one interval, and waits
again. Nothing is recorded in between. With --before 5 the rings keep the last seconds all
the time, and the report shows what happened before the alarm.

Ctrl-C ends a run with a full report. A command ends with its run. ringtap reports lost
samples, stacks that were cut short and frames without names whenever there are any.
`

type onCPU struct {
	plain
	idle bool
}

func (q *onCPU) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&q.idle, "idle", false, "on-cpu: include the idle task")
}

func (q *onCPU) open(run *collect.Run) ([]table.Collector, error) {
	return oncpu.Open(run, q.idle)
}
