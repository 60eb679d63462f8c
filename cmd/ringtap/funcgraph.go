package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/trace/functrace"
)

const funcgraphUsage = `funcgraph [options] FUNCTION...

Print each call of a kernel function with everything it calls, and how long each call
takes. Meanwhile the whole kernel is slower, by half or more.

  ringtap funcgraph do_nanosleep           the calls in a sleep
  ringtap funcgraph -m 3 vfs_read          three levels only
  ringtap funcgraph -a vfs_read            with times and names
  ringtap funcgraph -p 198 -I vfs_read     one process, without interrupts
  ringtap funcgraph -d 1 vfs_read > out    for one second, written at the end

The function tracers run in a trace instance of ringtap's own. Before Linux 6.11 funcgraph
and funcslower need the host's only graph tracer. They refuse to run if it is in use, save
its settings and restore them; after kill -9 the next ringtap does that, or ringtap reset.
`

// graphFlags are the flags that funcgraph and funcslower share.
type graphFlags struct {
	funcFlags
	all, onCPU, task, time bool
}

func (g *graphFlags) add(flags *pflag.FlagSet) {
	g.funcFlags.add(flags)
	flags.BoolVarP(&g.all, "all-columns", "a", false, "print all columns: the same as -HPt")
	flags.BoolVarP(&g.task, "task", "P", false, "print the name and number of the thread on each line")
	flags.BoolVarP(&g.time, "times", "t", false, "print the time on each line")
	manual.SetGroup(flags, outputGroup)
	flags.BoolVarP(&g.onCPU, "on-cpu", "C", false, "leave the time asleep out of durations")
	manual.SetGroup(flags, whatGroup)
	addForce(flags, &g.force)
	manual.SetGroup(flags, controlGroup)
}

// graph returns the graph options that the flags select. With -a it also turns headers on.
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
	depth := flags.IntP("max-depth", "m", 0, "show calls down to `LEVEL` only (default: all)")
	skip := flags.BoolP("no-interrupts", "I", false, "do not follow interrupt handlers")
	manual.SetGroup(flags, whatGroup)
	noDuration := flags.BoolP("no-duration", "D", false, "do not print durations")
	tail := flags.BoolP("tail", "T", false, "name the function at the end of each call")
	manual.SetGroup(flags, outputGroup)
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return usagef("give a function, such as vfs_read")
	}
	if *depth < 0 {
		return usagef("-m %d: want a depth of 1 or more, or 0 for all", *depth)
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
