package run

import (
	"slices"

	"github.com/ringtap/ringtap/internal/cgroup"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// followSwitches adds the kernel's own walk of the frame pointers to samplings that copy
// user stacks, if the target runs Go. Go calls C, the vdso and parts of its runtime on
// another stack, which the copy does not have; the kernel's walk leads there.
//
// The walk costs the program time at every sample, so it is left out elsewhere, and for the
// whole system. A chain that needs it then ends with a mark: see callchain.MarkSwitch.
func followSwitches(target perfevent.Target, samplings []perfevent.Sampling) []perfevent.Sampling {
	lacks := func(s perfevent.Sampling) bool { return s.UserStack > 0 && s.UserRegs != 0 && !s.Callchain.User }
	if !slices.ContainsFunc(samplings, lacks) || !runsGo(target) {
		return samplings
	}
	samplings = slices.Clone(samplings)
	for i := range samplings {
		if lacks(samplings[i]) {
			samplings[i].Callchain.User = true
		}
	}
	return samplings
}

// maxAsked bounds the processes of a target whose files are looked at.
const maxAsked = 256

// runsGo reports whether a process of the target has a Go runtime.
func runsGo(target perfevent.Target) bool {
	pids := target.PIDs()
	if dir := target.Cgroup(); dir != "" {
		pids, _ = cgroup.Processes(dir) // without them nothing is known
	}
	table := process.NewTable(process.Options{})
	defer table.Close()
	for _, pid := range pids[:min(len(pids), maxAsked)] {
		if table.Process(pid).MapsGo() {
			return true
		}
	}
	return false
}
