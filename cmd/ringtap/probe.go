package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/questions/calls"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/internal/visible"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/uprobe"
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

// probe is the question of probe, for one spec or more.
type probe struct {
	specs []string
	exact bool
	limit int
	count bool
	hist  bool
}

func (q *probe) flags(flags *pflag.FlagSet) {
	flags.BoolVar(&q.exact, "exact", false, "probe: place user probes at the very addresses named, though the kernel may have to single-step there")
	flags.IntVar(&q.limit, "limit", 1000, "probe: the most places that a pattern may stand for")
	flags.BoolVar(&q.count, "count", false, "probe: only count calls; their returns are not probed")
	flags.BoolVar(&q.hist, "hist", false, "probe: print a histogram of the calls' times below the tables")
}

func (q *probe) take(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, usagef("no probe given, such as libc:malloc")
	}
	if slices.Contains(q.specs, args[0]) {
		return nil, usagef("the probe %s is named twice", args[0])
	}
	q.specs = append(q.specs, args[0])
	return args[1:], nil
}

func (q *probe) validate() error {
	switch {
	case q.limit < 1:
		return usagef("--limit %d: at least one place", q.limit)
	case q.count && q.hist:
		return usagef("--hist needs times, and with --count there are none")
	}
	return nil
}

func (q *probe) make(a *asking) ([]table.Collector, error) {
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
func (q *probe) collector(a *asking, spec string) (table.Collector, error) {
	kind, definition := cutKind(spec)
	viewers, err := a.viewers()
	if err != nil {
		return nil, err
	}
	where, definition := placeOf(kind, definition, viewers[0])
	if kind == "" || kind == "p" {
		whole, err := isWholeFunction(where, definition)
		if err != nil {
			return nil, err
		}
		if whole && !q.count {
			return q.calls(a, spec, where, definition, viewers)
		}
	}
	if q.hist {
		return nil, usagef("--hist: %s takes no time that could be told: only whole functions can be timed", spec)
	}
	probed, err := q.attach(a, spec, viewers)
	if err != nil {
		return nil, err
	}
	return &calls.Hits{Spec: spec, Events: probed.events, Stacks: probed.stacks}, nil
}

// isWholeFunction tells whether a definition without a kind means functions, and
// not places in them or their arguments.
func isWholeFunction(where place, definition string) (bool, error) {
	if where == inKernel {
		d, err := kprobe.Parse("p:" + definition)
		if err != nil {
			return false, &usageError{err}
		}
		return len(d.Args) == 0 && d.Offset == 0 && d.Symbol != "", nil
	}
	d, err := uprobe.Parse("p:" + definition)
	if err != nil {
		return false, &usageError{err}
	}
	return len(d.Args) == 0 && d.Offset == 0 && d.Place == uprobe.PlaceFunction, nil
}

// calls makes the collector of functions' times.
func (q *probe) calls(a *asking, spec string, where place, definition string, viewers []int) (table.Collector, error) {
	logger := a.out.logger(a.verbose)
	stacks := a.stacks()
	c := &callProbes{out: a.out, logger: logger, target: a.target, count: true, userStacks: stacks.User,
		kprobe: kprobe.Options{MaxSites: q.limit, Logger: logger}}
	var err error
	if where == inKernel {
		err = c.kernel(definition)
	} else {
		err = a.eachFile(viewers, "p:"+definition, func(pid int) error {
			c.uprobe = q.options(pid, logger)
			return c.user(definition)
		})
	}
	a.closers = append(a.closers, c.closers...)
	if err != nil {
		return nil, err
	}
	c.sayUntimed()
	a.closing(func() error { return sayMissed(a.out, c.kprobes...) })
	stacks.Entry = c.atEntry
	if !c.times() {
		if q.hist {
			return nil, usagef("--hist: the times of %s are not known", spec)
		}
		hits := &calls.Hits{Spec: spec, Stacks: stacks}
		for i := range c.events {
			hits.Events = append(hits.Events, c.events[i].Event)
		}
		return hits, nil
	}
	calls := calls.NewCalls(spec, c.events, stacks, q.hist)
	a.closing(func() error { sayCalls(a.out.stderr, calls); return nil })
	if q.hist {
		a.below = append(a.below, func(w io.Writer) error { return writeTimes(w, calls) })
	}
	return calls, nil
}

// probed is a spec that has become events.
type probed struct {
	events []perfevent.Event
	stacks stack.Stacks
}

// attach makes events of what a spec names.
func (q *probe) attach(a *asking, spec string, viewers []int) (*probed, error) {
	kind, probe := cutKind(spec)
	if kind == "t" {
		return q.tracepoints(a, probe)
	}
	where, probe := placeOf(kind, probe, viewers[0])
	if kind == "" {
		kind = "p"
	}
	if where == inUser {
		return q.user(a, kind+":"+probe, viewers)
	}
	return q.kernel(a, kind+":"+probe)
}

// options are how the functions of a file are found that a process sees.
func (q *probe) options(pid int, logger *slog.Logger) uprobe.Options {
	return uprobe.Options{PID: pid, Exact: q.exact, MaxSites: q.limit, Logger: logger}
}

func (q *probe) user(a *asking, definition string, viewers []int) (*probed, error) {
	logger := a.out.logger(a.verbose)
	done := &probed{stacks: a.stacks()}
	done.stacks.Entry = true
	err := a.eachFile(viewers, definition, func(pid int) error {
		plan, err := resolve(a.out, definition, q.options(pid, logger))
		if err != nil {
			return err
		}
		a.closing(plan.Close)
		// With Few 0: of perf's own events each is one more that every hit calls.
		attachment, err := uprobe.Attach(plan, uprobe.AttachOptions{Target: a.target, Merge: len(plan.Sites) > manyPlaces, Logger: logger})
		if err != nil {
			return wrongDefinition(err)
		}
		a.closing(attachment.Close)
		done.events = append(done.events, attachment.Events...)
		done.stacks.Entry = done.stacks.Entry && plan.AtEntry()
		return nil
	})
	return done, err
}

func (q *probe) kernel(a *asking, definition string) (*probed, error) {
	logger := a.out.logger(a.verbose)
	plan, err := resolveKernel(a.out, definition, kprobe.Options{MaxSites: q.limit, Logger: logger})
	if err != nil {
		return nil, err
	}
	stacks := a.stacks()
	attachment, err := kprobe.Attach(plan, kprobe.AttachOptions{Target: a.target, Merge: len(plan.Sites) > manyPlaces, UserStacks: stacks.User, Logger: logger})
	if err != nil {
		return nil, wrongDefinition(err)
	}
	a.closing(attachment.Close)
	a.closing(func() error { return sayMissed(a.out, attachment) })
	return &probed{attachment.Events, stacks}, nil
}

func (q *probe) tracepoints(a *asking, pattern string) (*probed, error) {
	fs, _, err := ftrace.Mount()
	if err != nil {
		return nil, err
	}
	names, err := chooseSampled(a.out, fs, pattern)
	if err != nil {
		return nil, err
	}
	events, err := tracepointEvents(fs, names, "")
	if err != nil {
		return nil, err
	}
	done := &probed{stacks: a.stacks()}
	for _, event := range events {
		done.events = append(done.events, event.Event)
	}
	return done, nil
}
