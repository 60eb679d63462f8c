package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/functrace"
	"github.com/ringtap/ringtap/internal/names"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/perfevent"
)

// The ways to count the kernel's functions.
const (
	wayFunction = "function" // the function tracer: any number of functions at once
	wayKprobe   = "kprobe"   // probes: nothing is recorded, so that nothing can be lost
)

// countingWay is one of them. What it counts with may be refused, and then another
// may do.
type countingWay struct {
	name  string
	count func(ctx context.Context, out *console, spec string) (refused, err error)
}

// countKernel counts calls of the kernel's functions. One is counted by a probe,
// exactly and with no record of each call; many by the function tracer, since a
// probe takes the kernel some ten milliseconds to set and as long to remove.
func (c *countFlags) countKernel(ctx context.Context, out *console, spec string) error {
	ways := []countingWay{{wayFunction, c.countByTracer}, {wayKprobe, c.countByProbes}}
	switch {
	case c.way == wayFunction:
		ways = ways[:1]
	case c.way == wayKprobe:
		ways = ways[1:]
	case !names.IsGlob(spec):
		ways[0], ways[1] = ways[1], ways[0]
	}
	var refusals []error
	for _, w := range ways {
		refused, err := w.count(ctx, out, spec)
		if refused == nil {
			return err
		}
		out.logger(c.verbose).Debug("can't count this way", "way", w.name, "error", refused)
		refusals = append(refusals, refused)
	}
	if len(refusals) == 1 {
		return refusals[0]
	}
	return errNotCountable
}

// errNotCountable is the whole story for most; --verbose has the rest.
var errNotCountable = errors.New("this kernel lets no one count its functions: it has neither kprobe_events (CONFIG_KPROBE_EVENTS) nor a function tracer that may be used; " +
	"tracepoints ('t:syscalls:sys_enter_*') and user functions ('libc:mem*') can be counted")

// countByTracer counts by the function tracer; refused says that there is none.
func (c *countFlags) countByTracer(ctx context.Context, out *console, spec string) (refused, err error) {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil, err
	}
	logger := out.logger(c.verbose)
	account, err := functrace.Count(ctx, tracefs, functrace.CountOptions{
		Functions: []string{spec}, PID: c.pid, Duration: time.Duration(c.duration), Interval: time.Duration(c.interval), Logger: logger,
		Armed: func(functions int) error {
			logger.Debug("counting records of the function tracer", "functions", functions)
			return c.greet(out, spec, several(functions, "function"))
		},
		Emit: func(calls map[string]uint64) error { return c.print(out, calls) },
	})
	var none *functrace.NoTracerError
	if errors.As(err, &none) {
		return err, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprint(out.stdout, "\nEnding tracing...\n")
	if account.Lost > 0 {
		fmt.Fprintf(out.stderr, "%d calls of %d lost: they came faster than they could be counted; --way kprobe loses none\n", account.Lost, account.Lost+account.Shown)
	}
	return nil, err
}

// countByProbes counts by probes; refused says that there are none.
func (c *countFlags) countByProbes(ctx context.Context, out *console, spec string) (refused, err error) {
	logger := out.logger(c.verbose)
	definition, err := kprobe.Parse("p:" + spec)
	if err != nil {
		return nil, &usageError{err}
	}
	plan, err := kprobe.Resolve(definition, kprobe.Options{MaxSites: c.limit, Logger: logger})
	if err != nil {
		return nil, wrongDefinition(err)
	}
	merge := len(plan.Sites) > manyPlaces && c.pid == 0
	attachment, err := kprobe.Attach(plan, kprobe.AttachOptions{Target: c.target(), Way: kprobe.WayKprobeEvents, Merge: merge, Logger: logger})
	var none *kprobe.WayError
	if errors.As(err, &none) {
		return err, nil
	}
	if err != nil {
		return nil, wrongDefinition(err)
	}
	defer closing(out, attachment)
	n := &counting{}
	for _, site := range plan.Sites {
		n.names = append(n.names, site.Function.String())
	}
	// Of a merged event our own hits are one number for all places.
	closeAll, err := c.openCounters(out, n, attachment.Events, !attachment.Merged())
	if err != nil {
		return nil, err
	}
	defer closeAll()
	n.hits = n.counters.Read
	if attachment.Merged() {
		n.hits = attachment.Hits
	}
	logger.Debug("counting by probes", "functions", len(plan.Sites), "merged", attachment.Merged())
	if err := c.greet(out, spec, several(len(plan.Sites), "function")); err != nil {
		return nil, err
	}
	return nil, errors.Join(c.watch(ctx, out, n), sayMissed(out, attachment))
}

// fewOwn is for how many events our own hits are counted too, to be left out.
const fewOwn = 32

// openCounters opens counters of the events on the target, and of the whole
// system also on ourselves if own hits can be told apart.
func (c *countFlags) openCounters(out *console, n *counting, events []perfevent.Event, tellOwn bool) (closeAll func(), err error) {
	options := perfevent.Options{Logger: out.logger(c.verbose)}
	var opened []*perfevent.Counters
	closeAll = func() {
		for _, counters := range opened {
			counters.Close()
		}
	}
	open := func(target perfevent.Target) (*perfevent.Counters, error) {
		counters, err := perfevent.OpenCounters(target, events, options)
		if err != nil {
			return nil, err
		}
		opened = append(opened, counters)
		return counters, nil
	}
	n.counters, err = open(c.target())
	if err == nil && tellOwn && c.pid == 0 && len(events) <= fewOwn {
		n.own, err = open(perfevent.Process(os.Getpid()))
	}
	for _, counters := range opened {
		if err == nil {
			err = counters.Enable()
		}
	}
	if err != nil {
		closeAll()
		return nil, err
	}
	return closeAll, nil
}
