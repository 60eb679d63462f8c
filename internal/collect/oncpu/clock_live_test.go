package oncpu_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/collect/oncpu"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/testkit/livetest"
	"github.com/ringtap/ringtap/perfevent"
)

// The time that the report names is what wait4(2) says of the command.
func TestLiveTheCPUTimeOfACommandIsTheKernels(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	const loop = "i=0; while [ $i -lt 150000 ]; do i=$((i+1)); done"
	for _, test := range []struct {
		name, script string
		started      bool
	}{
		{"with its children", loop + "; (" + loop + "); (" + loop + "); :", true},
		{"of one process, to the nanosecond", loop, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			collector := &oncpu.Collector{Event: perfevent.CPUClock(), Frequency: 199, Started: test.started,
				Stacks: stack.Stacks{User: true, Unwind: stack.FP}}
			cmd := exec.Command("/bin/sh", "-c", test.script)
			p, _ := livetest.Run(t, cmd, func(c *perfevent.Command) perfevent.Target {
				collector.Watched = []int{c.PID()}
				return perfevent.Started(c)
			}, collector, 0)
			want := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			// /proc shows each of four times in whole ticks of 10 ms, and what the command took
			// before it was held does not count.
			if got := p.CPUTime; (got-want).Abs() > 50*time.Millisecond || want < 100*time.Millisecond {
				t.Errorf("the report says that the command ran for %v, and wait4 says %v", got, want)
			}
		})
	}
}
