package main

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/questions/offcpu"
)

// sayBlind says what may be missed by tracepoints of what the kernel does while a CPU
// is idle, which some machines don't trace: much of what is freed by RCU is freed
// then, and disks complete requests. What can't be found out is not said.
func sayBlind(a *asking, tracefs *ftrace.FS, missed string) {
	format, err := tracefs.Format("sched", "sched_switch")
	if err != nil {
		return
	}
	blind, err := offcpu.BlindCPUs(format)
	if err != nil || len(blind) == 0 {
		return
	}
	fmt.Fprintf(a.out.stderr, "note: this kernel may not trace CPU %s while it is idle: %s\n",
		strings.ReplaceAll(strings.Trim(fmt.Sprint(blind), "[]"), " ", ", "), missed)
}
