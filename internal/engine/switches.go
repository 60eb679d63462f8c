package engine

import (
	"slices"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/process/cgroup"
	"github.com/ringtap/ringtap/perfevent"
)

// followSwitches makes samplings that copy user stacks also ask for the kernel's frame pointer
// walk, if the target runs Go. Go calls C, the vdso and parts of its runtime on another stack. The
// copy lacks that stack, but the kernel's walk continues there.
//
// The walk slows the program down at every sample. So other programs, and the whole system, do
// without. A stack that would need it then ends with a mark: see callchain.MarkSwitch.
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

// maxAsked bounds how many processes of a target are searched for a Go runtime.
const maxAsked = 256

// runsGo reports whether a process of the target has a Go runtime.
func runsGo(target perfevent.Target) bool {
	pids := target.PIDs()
	if dir := target.Cgroup(); dir != "" {
		pids, _ = cgroup.Processes(dir) // if that fails, there are no processes to search
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
