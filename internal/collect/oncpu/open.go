package oncpu

import (
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/cli/usage"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// Open returns the collector of a run. idle includes the idle task. The error is a *usage.Error if
// the kernel does not allow so many samples a second.
func Open(run *collect.Run, idle bool) ([]table.Collector, error) {
	const sysctl = "kernel/perf_event_max_sample_rate"
	text, _ := process.Host{}.Sysctl(sysctl)
	if most, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64); err == nil && run.Frequency > most {
		return nil, usage.Errorf("-f %d: this kernel takes %d at most (%s)", run.Frequency, most, strings.ReplaceAll(sysctl, "/", "."))
	}
	stacks := run.Stacks()
	stacks.Interpreted, stacks.Beyond = stacks.User, stacks.User
	return []table.Collector{&Collector{
		Event:     perfevent.CPUCycles(),
		Frequency: run.Frequency,
		idle:      idle,
		Stacks:    stacks,
		Watched:   run.Processes(),
		Started:   run.Started != nil,
	}}, nil
}
