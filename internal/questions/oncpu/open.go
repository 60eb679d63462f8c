package oncpu

import (
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/questions"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/internal/usage"
	"github.com/ringtap/ringtap/perfevent"
)

// Open makes the collector of a run. Idle includes the idle task. The error is a *usage.Error
// where the kernel takes no so many samples a second.
func Open(run *questions.Run, idle bool) ([]table.Collector, error) {
	const sysctl = "kernel/perf_event_max_sample_rate"
	text, _ := process.Host{}.Sysctl(sysctl)
	if most, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64); err == nil && run.Frequency > most {
		return nil, usage.Errorf("-f %d: this kernel takes %d at most (%s)", run.Frequency, most, strings.ReplaceAll(sysctl, "/", "."))
	}
	stacks := run.Stacks()
	stacks.Moments, stacks.Beyond = stacks.User, stacks.User
	return []table.Collector{&Collector{
		Event:     perfevent.CPUCycles(),
		Frequency: run.Frequency,
		Idle:      idle,
		Stacks:    stacks,
		Watched:   run.Processes(),
		Started:   run.Started != nil,
	}}, nil
}
