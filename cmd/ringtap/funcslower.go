package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/ringtap/ringtap/internal/trace/functrace"
)

const funcslowerUsage = `funcslower [options] FUNCTION LATENCY_US

Print the calls of a kernel function that take longer than LATENCY_US microseconds. The
kernel measures and filters, so that fast calls cost little.

  ringtap funcslower vfs_read 10000          slower than 10 ms
  ringtap funcslower -a vfs_read 10000       with times and names
  ringtap funcslower -p 198 -C vfs_read 50   one process, time on the CPU only
`

func traceSlower(ctx context.Context, out *console, args []string) error {
	var g graphFlags
	flags := newFlags(out, "funcslower", funcslowerUsage)
	g.add(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	switch flags.NArg() {
	case 0:
		return usagef("give a function, such as vfs_read 10000")
	case 1:
		return usagef("give a latency in microseconds: %s 10000", flags.Arg(0))
	case 2:
	default:
		return usagef("unexpected argument %q: a function and a latency", flags.Arg(2))
	}
	usecs, err := strconv.ParseInt(flags.Arg(1), 10, 64)
	if err != nil || usecs <= 0 || usecs > math.MaxInt64/1000 {
		return usagef("%q is not a latency: want a number of microseconds, 1 or more", flags.Arg(1))
	}
	if err := g.check(flags); err != nil {
		return err
	}
	functions := flags.Args()[:1]
	o := g.options(functrace.Slower, functions)
	o.Graph = g.graph()
	o.Graph.Threshold = time.Duration(usecs) * time.Microsecond
	o.Graph.Switches = !o.Graph.Task // with Task each line names its thread
	return g.traceFunctions(ctx, out, o, g.greeting(functions, fmt.Sprintf(" slower than %d us", usecs)))
}
