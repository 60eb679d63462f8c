package main

import (
	"os"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/questions/oncpu"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

const onCPUUsage = `on-cpu [flags] [-- COMMAND ARG...]

Samples what runs on the CPUs and counts it per call stack: hardware cycles
where the machine has them, else the clock. Without a target: the whole system.

  ringtap on-cpu -d 5                      the whole host for five seconds
  ringtap on-cpu -p 4242 --out cpu.html    a process until Ctrl-C, as a flame graph
  ringtap on-cpu -f 999 -- make -j4        a command from beginning to end
  ringtap on-cpu off-cpu -u -- ./prog      time on the CPUs and off them, side by side
`

// onCPU is the question of on-cpu.
type onCPU struct {
	idle bool
}

func (q *onCPU) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&q.idle, "idle", false, "on-cpu: show the idle task too")
}

func (q *onCPU) take(args []string) ([]string, error) { return args, nil }

func (q *onCPU) validate() error { return nil }

func (q *onCPU) make(a *asking) ([]table.Collector, error) {
	const sysctl = "kernel/perf_event_max_sample_rate"
	text, _ := os.ReadFile("/proc/sys/" + sysctl)
	if most, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil && a.frequency > most {
		return nil, usagef("-f %d: this kernel takes %d at most (%s)", a.frequency, most, strings.ReplaceAll(sysctl, "/", "."))
	}
	return []table.Collector{&oncpu.Collector{
		Event:     perfevent.CPUCycles(),
		Frequency: a.frequency,
		Idle:      q.idle,
		Stacks:    a.stacks(),
	}}, nil
}
