package io

import (
	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/questions"
	"github.com/ringtap/ringtap/internal/table"
)

// The copies of stacks to begin with where a process or command is watched, and how
// many bytes a second of them are too many: those take a twentieth of a CPU. A Java
// thread's read has 8 KiB for the bytes on its stack, and a server does 10,000 a second.
// Of the whole system so many would not be read in time where all CPUs are busy.
const (
	processCopy   = 4 << 10
	processBudget = 256 << 20
	systemBudget  = 64 << 20
)

// Open makes the collector of a run that begins now.
func Open(run *questions.Run, by By) ([]table.Collector, error) {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil, err
	}
	formats, err := ReadFormats(tracefs)
	if err != nil {
		return nil, err
	}
	if formats.Received == nil {
		run.Logger.Info("the bytes of sendmmsg and recvmmsg are not known")
	}
	stacks := run.Stacks()
	stacks.Kernel = run.Kernel // it is the tracepoint's own: the same for every call
	stacks.Budget = systemBudget
	if !run.Whole() {
		// What is short shall have whole stacks too, unless it storms.
		stacks.Copy, stacks.Budget = processCopy, processBudget
	}
	collector, err := New(process.Host{}, formats, by, stacks)
	if err != nil {
		return nil, err
	}
	if by == ByFile {
		stop, err := collector.ReadPaths(tracefs, run.Watched, run.Logger)
		if err != nil {
			return nil, err
		}
		run.Closing(stop)
	}
	for _, pid := range run.Processes() {
		collector.Look(pid)
	}
	return []table.Collector{collector}, nil
}
