package main

import (
	"slices"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/calls"
	"github.com/ringtap/ringtap/internal/collect/table"
)

const probeUsage = `probe [options] SPEC [COLLECTOR...] [-- COMMAND ARG...]

Add up the time that threads spend in a function, from its entry to its return, and count
its calls, by process and call stack. SPEC is one of

  FUNCTION, p::FUNCTION                 a kernel function, as kprobe takes it
  TARGET:FUNCTION, p:TARGET:FUNCTION    a function of a program or library, as uprobe takes it
  r::FUNCTION, r:TARGET:FUNCTION        its returns, which are counted
  u:TARGET:PROVIDER:NAME                a USDT probe, whose hits are counted
  t:SYSTEM:EVENT                        a tracepoint, whose hits are counted

  ringtap probe -d 5 libc:malloc                       who allocates, on the whole host
  ringtap probe -u libc:malloc -- ./prog               a command from beginning to end
  ringtap probe libc:read probe libc:write -p 42       two functions in one table
  ringtap probe --hist -d 5 vfs_read                   with a histogram of the times
  ringtap probe --count -p 42 --out m.html libc:malloc calls only, as a flame graph

With -p, -t and -g, ringtap looks up TARGET as the watched processes see it: a container's
own libraries.

A call counts where it begins, and its time counts in every interval it spans. A call that
ends by longjmp or an exception lasts until the thread passes the same place again. If a
function calls itself, the time is that of the outermost call; the time of inner calls
counts for their own stacks. The times include the cost of the probes, a microsecond or
more a call. ringtap counts hits of a place inside a function and of a definition with
arguments, and times nothing there. --count counts everything and costs a program less.

Functions of Python 3.6 to 3.15, PHP, Ruby and Perl have their names, as in on-cpu: ringtap
probe -u libc:malloc shows which Python function calls malloc. ringtap reads the calls of 1,250
hits a second at most. The others count as well and have native stacks. A note says how many
were read.
`

// probeQuestion is the collector probe, for one spec or more.
type probeQuestion struct {
	specs []string
	calls.Options
}

func (q *probeQuestion) flags(flags *pflag.FlagSet) {
	addExact(flags, &q.Exact)
	addLimit(flags, &q.Limit, 1000)
	flags.BoolVar(&q.Count, "count", false, "probe: only count calls, and do not probe returns")
	flags.BoolVar(&q.Hist, "hist", false, "probe: print a histogram of the times below the report")
}

func (q *probeQuestion) take(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, usagef("give a probe, such as libc:malloc")
	}
	if slices.Contains(q.specs, args[0]) {
		return nil, usagef("probe %s appears twice", args[0])
	}
	q.specs = append(q.specs, args[0])
	return args[1:], nil
}

func (q *probeQuestion) validate() error {
	switch {
	case q.Limit < 1:
		return usagef("--limit %d: at least one place", q.Limit)
	case q.Count && q.Hist:
		return usagef("--hist needs times, and --count takes none")
	}
	return nil
}

func (q *probeQuestion) open(run *collect.Run) ([]table.Collector, error) {
	collectors, err := calls.Open(run, q.specs, q.Options)
	return collectors, wrongSpec(err)
}
