package count

import (
	"context"
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/text/match"
	"github.com/ringtap/ringtap/internal/trace/functrace"
	"github.com/ringtap/ringtap/kprobe"
)

// The ways to count kernel functions.
const (
	wayFunction = "function" // the function tracer: any number of functions
	wayKprobe   = "kprobe"   // probes: nothing is recorded, so nothing can be lost
)

// Ways returns the names of the ways, and "auto" for the best one.
func Ways() []string { return []string{"auto", wayFunction, wayKprobe} }

// countingWay is one of the ways. refused says why the kernel refuses it; then another way may
// work.
type countingWay struct {
	name  string
	count func(ctx context.Context, spec *probe.Spec) (refused, err error)
}

// countKernel counts calls of kernel functions. A single function is counted by a probe: exactly,
// and without a record per call. Patterns are counted by the function tracer, because a probe takes
// the kernel some 10 ms to set and as long to remove.
func (c *Request) countKernel(ctx context.Context, spec *probe.Spec) error {
	ways := []countingWay{{wayFunction, c.countByTracer}, {wayKprobe, c.countByProbes}}
	switch {
	case c.Way == wayFunction:
		ways = ways[:1]
	case c.Way == wayKprobe:
		ways = ways[1:]
	case !match.IsGlob(spec.Probe):
		ways[0], ways[1] = ways[1], ways[0]
	}
	var refusals []error
	for _, w := range ways {
		refused, err := w.count(ctx, spec)
		if refused == nil {
			return err
		}
		c.Logger.Debug("can't count this way", "way", w.name, "error", refused)
		refusals = append(refusals, refused)
	}
	if len(refusals) == 1 {
		return refusals[0]
	}
	return errNotCountable
}

// errNotCountable is enough for most users; --verbose shows each refusal.
var errNotCountable = errors.New("this kernel cannot count calls of its functions: it has neither kprobe_events (CONFIG_KPROBE_EVENTS) nor a usable function tracer; " +
	"tracepoints ('t:syscalls:sys_enter_*') and user functions ('libc:mem*') can be counted")

// countByTracer counts by the function tracer. refused says that there is none.
func (c *Request) countByTracer(ctx context.Context, spec *probe.Spec) (refused, err error) {
	if c.Target.TID != 0 || c.Target.Cgroup != "" || c.Target.Command != nil {
		return errors.New("the function tracer counts the calls of processes (-p) and of the whole system"), nil
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil, err
	}
	c.Begin()
	account, err := functrace.Count(ctx, tracefs, functrace.CountOptions{
		Functions: []string{spec.Probe}, PIDs: c.Target.PIDs, Duration: c.Duration, Interval: c.Interval, Logger: c.Logger,
		Armed: func(functions int) error {
			c.Logger.Debug("counting records of the function tracer", "functions", functions)
			return c.greet(spec.Text, several(functions, "function"))
		},
		Emit: c.print,
	})
	var none *functrace.NoTracerError
	if errors.As(err, &none) {
		return err, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprint(c.Out, "\nEnding tracing...\n")
	if account.Lost > 0 {
		fmt.Fprintf(c.Stderr, "lost %d of %d calls, which came faster than ringtap could count them; --way kprobe loses none\n", account.Lost, account.Lost+account.Shown)
	}
	return nil, err
}

// countByProbes counts by probes. refused says that there are none.
func (c *Request) countByProbes(ctx context.Context, spec *probe.Spec) (refused, err error) {
	err = c.countEvents(ctx, spec, "function")
	if errors.As(err, new(*kprobe.MethodError)) {
		return err, nil
	}
	return nil, err
}
