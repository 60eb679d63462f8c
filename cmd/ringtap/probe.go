package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/histogram"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/questions/calls"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/kprobe"
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
	addExact(flags, &q.exact)
	addLimit(flags, &q.limit, 1000)
	flags.BoolVar(&q.count, "count", false, "probe: only count calls, and do not probe returns")
	flags.BoolVar(&q.hist, "hist", false, "probe: print a histogram of the times below the report")
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
	case q.limit < 1:
		return usagef("--limit %d: at least one place", q.limit)
	case q.count && q.hist:
		return usagef("--hist needs times, and --count takes none")
	}
	return nil
}

func (q *probeQuestion) make(a *asking) ([]table.Collector, error) {
	var collectors []table.Collector
	for _, spec := range q.specs {
		made, err := q.collector(a, spec)
		var none *kprobe.SymbolError
		if errors.As(err, &none) && !strings.Contains(spec, ":") {
			return nil, fmt.Errorf("%w; name a user function with its file: libc:%s", err, escape.Text(spec))
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
		return nil, usagef("--hist: %s cannot be timed: only whole functions can be timed", text)
	}
	set, err := attach(a.out, spec, options)
	if err != nil {
		return nil, err
	}
	a.closing(set.Close)
	a.closing(func() error { return set.SayMissed(a.out.stderr) })
	stacks.Entry = set.AtEntry
	if !set.Timed() {
		if q.hist {
			return nil, usagef("--hist: the times of %s are unknown", text)
		}
		return &calls.Hits{Spec: text, Sources: set.Sources, Stacks: stacks}, nil
	}
	calls := calls.NewCalls(text, set.Sources, stacks)
	a.closing(func() error {
		account := calls.Account()
		if left := account.Phrases(" is not included", " are not included"); len(left) > 0 {
			fmt.Fprintf(a.out.stderr, "%s: of the times, %s\n", escape.Text(calls.Spec), strings.Join(left, "; "))
		}
		return nil
	})
	if q.hist {
		scale := histogram.Log2()
		calls.Histogram = &scale
	}
	return calls, nil
}
