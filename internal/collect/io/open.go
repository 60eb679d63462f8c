package io

import (
	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
)

// Initial copies of stacks if a process or command is watched, and budgets for copies in bytes a
// second. processBudget takes a twentieth of a CPU. When a Java thread reads, 8 KiB of its stack
// are the bytes that it reads, and a server does 10,000 reads a second. On the whole system, so
// many bytes could not be read in time if all CPUs are busy.
const (
	processCopy   = 4 << 10
	processBudget = 256 << 20
	systemBudget  = 64 << 20
)

// Open returns the collector of a run that starts now.
func Open(run *collect.Run, splitBy By) ([]table.Collector, error) {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil, err
	}
	formats, err := ReadFormats(tracefs)
	if err != nil {
		return nil, err
	}
	if formats.received == nil {
		run.Logger.Info("the bytes of sendmmsg and recvmmsg are not known")
	}
	stacks := run.Stacks()
	stacks.Kernel = run.Kernel // the tracepoint's own frames are the same for every call
	stacks.Budget = systemBudget
	if !run.Whole() {
		// Short-lived processes get whole stacks too, unless calls come too fast.
		stacks.Copy, stacks.Budget = processCopy, processBudget
	}
	collector, err := New(process.Host{}, formats, splitBy, stacks)
	if err != nil {
		return nil, err
	}
	if splitBy == ByFile {
		stop, err := collector.ReadPaths(tracefs, run.Watched, run.Logger)
		if err != nil {
			return nil, err
		}
		run.Closing(stop)
	}
	for _, pid := range run.Processes() {
		collector.look(pid)
	}
	return []table.Collector{collector}, nil
}
