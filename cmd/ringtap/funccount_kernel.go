package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/functrace"
	"github.com/ringtap/ringtap/internal/names"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/kprobe"
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
	count func(ctx context.Context, out *console, spec *probe.Spec) (refused, err error)
}

// countKernel counts calls of the kernel's functions. One is counted by a probe,
// exactly and with no record of each call; many by the function tracer, since a
// probe takes the kernel some ten milliseconds to set and as long to remove.
func (c *countFlags) countKernel(ctx context.Context, out *console, spec *probe.Spec) error {
	ways := []countingWay{{wayFunction, c.countByTracer}, {wayKprobe, c.countByProbes}}
	switch {
	case c.way == wayFunction:
		ways = ways[:1]
	case c.way == wayKprobe:
		ways = ways[1:]
	case !names.IsGlob(spec.Probe):
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
var errNotCountable = errors.New("this kernel cannot count calls of its functions: it has neither kprobe_events (CONFIG_KPROBE_EVENTS) nor a usable function tracer; " +
	"tracepoints ('t:syscalls:sys_enter_*') and user functions ('libc:mem*') can be counted")

// countByTracer counts by the function tracer; refused says that there is none.
func (c *countFlags) countByTracer(ctx context.Context, out *console, spec *probe.Spec) (refused, err error) {
	if c.TID != 0 || c.Cgroup != "" || c.Command != nil {
		return errors.New("the function tracer counts the calls of processes (-p) and of the whole system"), nil
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil, err
	}
	logger := out.logger(c.verbose)
	out.recording.Store(true)
	account, err := functrace.Count(ctx, tracefs, functrace.CountOptions{
		Functions: []string{spec.Probe}, PIDs: c.PIDs, Duration: time.Duration(c.duration), Interval: time.Duration(c.interval), Logger: logger,
		Armed: func(functions int) error {
			logger.Debug("counting records of the function tracer", "functions", functions)
			return c.greet(out, spec.Text, several(functions, "function"))
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
		fmt.Fprintf(out.stderr, "lost %d of %d calls, which came faster than ringtap could count them; --way kprobe loses none\n", account.Lost, account.Lost+account.Shown)
	}
	return nil, err
}

// countByProbes counts by probes; refused says that there are none.
func (c *countFlags) countByProbes(ctx context.Context, out *console, spec *probe.Spec) (refused, err error) {
	err = c.countEvents(ctx, out, spec, "function")
	if errors.As(err, new(*kprobe.MethodError)) {
		return err, nil
	}
	return nil, err
}
