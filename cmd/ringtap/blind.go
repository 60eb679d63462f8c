package main

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/questions/offcpu"
	"github.com/ringtap/ringtap/perfevent"
)

// blindCPUs is offcpu.BlindCPUs, and keeps the tracepoint of switches in use until the
// run is over. When the last event of a tracepoint is closed the kernel waits until all
// CPUs have passed by, a second and more on a busy host, and the run's own events could
// not be opened meanwhile.
func blindCPUs(a *asking, switches *ftrace.Format) ([]int, error) {
	event := perfevent.Tracepoint(uint64(switches.ID), "sched:sched_switch")
	if idle, err := perfevent.OpenCounters(perfevent.System(), []perfevent.Event{event}, perfevent.Options{}); err == nil {
		a.closing(idle.Close) // it was never enabled and counts nothing
	}
	return offcpu.BlindCPUs(switches)
}

// sayBlind says what may be missed by tracepoints of what the kernel does while a CPU
// is idle, which some machines don't trace: much of what is freed by RCU is freed
// then, and disks complete requests. What can't be found out is not said.
func sayBlind(a *asking, tracefs *ftrace.FS, missed string) {
	format, err := tracefs.Format("sched", "sched_switch")
	if err != nil {
		return
	}
	blind, err := blindCPUs(a, format)
	if err != nil || len(blind) == 0 {
		return
	}
	fmt.Fprintf(a.out.stderr, "note: this kernel may not trace CPU %s while it is idle: %s\n",
		strings.ReplaceAll(strings.Trim(fmt.Sprint(blind), "[]"), " ", ", "), missed)
}
