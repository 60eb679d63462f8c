package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/histogram"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/questions/calls"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/internal/visible"
	"github.com/ringtap/ringtap/kprobe"
)

const probeUsage = `probe [flags] SPEC [-- COMMAND ARG...]

Adds up the time that threads spend in a function, from its entry to its return, and
its calls, by process and call stack. SPEC is one of

  FUNCTION, p::FUNCTION                     the kernel's, and what kprobe takes
  TARGET:FUNCTION, p:TARGET:FUNCTION        of a program or library, and what uprobe takes
  r::FUNCTION, r:TARGET:FUNCTION            its returns, which are counted
  u:TARGET:PROVIDER:NAME                    a USDT probe, whose hits are counted
  t:SYSTEM:EVENT                            a tracepoint, whose hits are counted

  ringtap probe -d 5 libc:malloc                   who allocates, on the whole host
  ringtap probe -u libc:malloc -- ./prog           a command from beginning to end
  ringtap probe libc:read probe libc:write -p 42   two in one table
  ringtap probe --hist -d 5 vfs_read               with a histogram of the times
  ringtap probe --count -p 4242 --out m.html libc:malloc

With -p, -t and -g TARGET is what the processes watched have: a container's own libraries.

A call counts where it begins, its time in every interval that it lasts; one that
longjmp or an exception leaves lasts until the thread comes by there again. Of a
function that calls itself the time is that of the outermost call: what went by in
an inner one stands with the inner one's stack. What the probes themselves take, a
microsecond and more a call, is in it. A place within a function, and one with
arguments, is counted; so are all with --count, which costs a program less.
`

// probeQuestion is the question of probe, for one spec or more.
type probeQuestion struct {
	specs []string
	exact bool
	limit int
	count bool
	hist  bool
}

func (q *probeQuestion) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&q.exact, "exact", false, "probe: place user probes at the very addresses named, though the kernel may have to single-step there")
	flags.IntVar(&q.limit, "limit", 1000, "probe: the most places that a pattern may stand for")
	flags.BoolVar(&q.count, "count", false, "probe: only count calls; their returns are not probed")
	flags.BoolVar(&q.hist, "hist", false, "probe: print a histogram of the calls' times below the tables")
}

func (q *probeQuestion) take(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, usagef("no probe given, such as libc:malloc")
	}
	if slices.Contains(q.specs, args[0]) {
		return nil, usagef("the probe %s is named twice", args[0])
	}
	q.specs = append(q.specs, args[0])
	return args[1:], nil
}

func (q *probeQuestion) validate() error {
	switch {
	case q.limit < 1:
		return usagef("--limit %d: at least one place", q.limit)
	case q.count && q.hist:
		return usagef("--hist needs times, and with --count there are none")
	}
	return nil
}

func (q *probeQuestion) make(a *asking) ([]table.Collector, error) {
	var collectors []table.Collector
	for _, spec := range q.specs {
		made, err := q.collector(a, spec)
		var none *kprobe.SymbolError
		if errors.As(err, &none) && !strings.Contains(spec, ":") {
			return nil, fmt.Errorf("%w; a user function is named with its file, as libc:%s", err, visible.Text(spec))
		}
		if err != nil {
			return nil, err
		}
		collectors = append(collectors, made)
	}
	return collectors, nil
}

// collector makes the collector of a spec: of times where it names functions, else
// of hits.
func (q *probeQuestion) collector(a *asking, text string) (table.Collector, error) {
	view, err := a.view()
	if err != nil {
		return nil, err
	}
	spec, err := probe.Parse(text, view)
	if err != nil {
		return nil, wrongSpec(err)
	}
	stacks := a.stacks()
	options := probe.Options{Target: a.target, View: view, Limit: q.limit, Exact: q.exact, UserStacks: stacks.User, Logger: a.out.logger(a.verbose)}
	switch {
	case spec.Kind == 'p' && spec.Whole && spec.Arguments == 0 && !q.count:
		options.Calls = probe.AllCalls
	case q.hist:
		return nil, usagef("--hist: %s takes no time that could be told: only whole functions can be timed", text)
	}
	set, err := attach(a.out, spec, options)
	if err != nil {
		return nil, err
	}
	a.closing(set.Close)
	a.closing(func() error { return printMissed(a.out, set) })
	stacks.Entry = set.AtEntry
	if !set.Timed() {
		if q.hist {
			return nil, usagef("--hist: the times of %s are not known", text)
		}
		return &calls.Hits{Spec: text, Sources: set.Sources, Stacks: stacks}, nil
	}
	calls := calls.NewCalls(text, set.Sources, stacks)
	a.closing(func() error { sayCalls(a.out.stderr, calls); return nil })
	if q.hist {
		scale := histogram.Log2()
		calls.Histogram = &scale
	}
	return calls, nil
}

// view is the processes as which files are looked for: those that are watched.
func (c *collectorFlags) view() (probe.View, error) {
	if c.cgroup != "" {
		return probe.InCgroup(c.cgroup)
	}
	return viewOf(c.pid, c.tid), nil
}
