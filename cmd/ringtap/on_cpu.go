package main

import (
	"context"
	"time"

	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/perfevent"
)

const onCPUUsage = `on-cpu [flags] [-- COMMAND ARG...]

Samples what runs on the CPUs and counts it per call stack: hardware cycles
where the machine has them, else the clock. Without a target: the whole system.

  ringtap on-cpu -d 5                      the whole host for five seconds
  ringtap on-cpu -p 4242 --out cpu.html    a process until Ctrl-C, as a flame graph
  ringtap on-cpu -f 999 -- make -j4        a command from beginning to end
`

// maxFrequency keeps the time of one sample above a nanosecond; the kernel's
// own limit (kernel.perf_event_max_sample_rate) is lower.
const maxFrequency = uint64(time.Second)

func onCPU(ctx context.Context, out *console, args []string) error {
	var common collectorFlags
	flags := newFlags(out, "on-cpu", onCPUUsage)
	common.add(flags)
	frequency := flags.Uint64P("frequency", "f", 49, "samples per second and CPU, in `HZ`")
	idle := flags.Bool("idle", false, "show the idle task too")
	if err := parse(flags, args); err != nil {
		return err
	}
	if err := common.validate(flags, flags.Args()); err != nil {
		return err
	}
	if *frequency < 1 || *frequency > maxFrequency {
		return usagef("-f %d: from 1 to kernel.perf_event_max_sample_rate", *frequency)
	}
	target, command, err := common.target()
	if err != nil {
		return err
	}
	defer leave(command)
	return runCollector(ctx, out, &common, target, command, &collect.OnCPU{
		Event:     perfevent.CPUCycles(),
		Frequency: *frequency,
		Idle:      *idle,
		Stacks:    common.stacks(),
	})
}
