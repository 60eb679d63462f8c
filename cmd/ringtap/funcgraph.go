package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/functrace"
)

const funcgraphUsage = `funcgraph [flags] FUNCTION...

Prints each call of a kernel function with all that it calls, and how long each
takes. The whole kernel is slower meanwhile, by half and more.

  ringtap funcgraph do_nanosleep
  ringtap funcgraph -m 3 vfs_read         three levels only
  ringtap funcgraph -a vfs_read           with times and names
  ringtap funcgraph -p 198 -I vfs_read    of one process, without interrupts
  ringtap funcgraph -d 1 vfs_read > out   for one second, written at its end
`

// graphFlags are the flags of funcgraph and funcslower beyond those of all.
type graphFlags struct {
	funcFlags
	all, onCPU, task, time bool
}

func (g *graphFlags) add(flags *pflag.FlagSet) {
	flags.BoolVarP(&g.all, "all", "a", false, "all columns: the same as -HPt")
	flags.BoolVarP(&g.onCPU, "on-cpu", "C", false, "durations leave out the time asleep")
	g.funcFlags.add(flags)
	flags.BoolVarP(&g.task, "task", "P", false, "print the name and number of the thread on each line")
	flags.BoolVarP(&g.time, "time", "t", false, "print the time on each line")
	g.addForce(flags)
}

// graph are the options that follow.
func (g *graphFlags) graph() functrace.GraphOptions {
	g.headers = g.headers || g.all
	return functrace.GraphOptions{
		OnCPU:    g.onCPU,
		Columns:  functrace.Columns{Time: g.time || g.all, Task: g.task || g.all, Duration: true},
		Switches: true,
	}
}

func traceGraph(ctx context.Context, out *console, args []string) error {
	var g graphFlags
	flags := newFlags(out, "funcgraph", funcgraphUsage)
	g.add(flags)
	depth := flags.IntP("max-depth", "m", 0, "how deep calls are shown (default: all)")
	noDuration := flags.BoolP("no-duration", "D", false, "do not print durations")
	tail := flags.BoolP("tail", "T", false, "say at each end which function it is of")
	skip := flags.BoolP("no-interrupts", "I", false, "do not follow interrupt handlers")
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return usagef("no function given, such as vfs_read")
	}
	if *depth < 0 {
		return usagef("-m %d: a depth is 1 or more, 0 is all", *depth)
	}
	if err := g.check(flags); err != nil {
		return err
	}
	o := g.options(functrace.Graph, flags.Args())
	o.Graph = g.graph()
	o.Graph.Depth, o.Graph.Tail, o.Graph.SkipInterrupts = *depth, *tail, *skip
	o.Graph.Duration = !*noDuration
	return g.traceFunctions(ctx, out, o, g.greeting(flags.Args(), ""))
}
