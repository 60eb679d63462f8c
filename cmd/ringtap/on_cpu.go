package main

import (
	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/questions/oncpu"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
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
`

// onCPU is the question of on-cpu.
type onCPU struct {
	idle bool
}

func (q *onCPU) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&q.idle, "idle", false, "on-cpu: include the idle task")
}

func (q *onCPU) take(args []string) ([]string, error) { return args, nil }

func (q *onCPU) validate() error { return nil }

func (q *onCPU) make(a *asking) ([]table.Collector, error) {
	return []table.Collector{&oncpu.Collector{
		Event:     perfevent.CPUCycles(),
		Frequency: a.frequency,
		Idle:      q.idle,
		Stacks:    a.stacks(),
		Watched:   a.watched(),
	}}, nil
}
