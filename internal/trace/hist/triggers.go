package hist

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/trace/histtrigger"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/uprobe"
)

// notInKernel returns why the kernel can't measure the times of calls itself, or "" if it may. User
// functions are not measured in the kernel by default: they call themselves more often, and only
// pairs handle that correctly.
func (o *Options) notInKernel(spec *spec) string {
	_, linear := o.Scale.IsLinear()
	switch {
	case spec.value:
		return "values are counted here"
	case o.ByStack:
		return "the kernel's triggers know no stacks"
	case linear:
		return "the kernel's triggers count by powers of two"
	case o.Unit != "ns":
		return "the kernel's triggers count nanoseconds"
	case o.Target.Cgroup != "":
		return "the kernel's triggers know no control groups"
	case o.Target.Command != nil:
		return "a command is followed from its first instruction on"
	case o.Way == "pairs":
		return "asked for"
	case o.Way == "auto" && spec.Place == probe.User:
		return "user functions may call themselves"
	}
	return ""
}

// measureInKernel makes the kernel make the histogram. done is false if it can't and another way
// may work. err then says why.
func (o *Options) measureInKernel(ctx context.Context, spec *spec) (done bool, err error) {
	set, err := o.attachPair(spec)
	if err != nil {
		return o.Way == "triggers" || !errors.Is(err, errNoEvents), err
	}
	defer set.Release(o.Stderr)
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return true, err
	}
	printer := &printer{o, &subject{text: spec.Text, functions: []string{spec.Text}}}
	o.Attached()
	account, err := histtrigger.Run(ctx, histtrigger.Options{
		Tracefs: tracefs, Enter: set.Sources[0].Format, Leave: set.Sources[1].Format, PIDs: o.Target.PIDs, TID: o.Target.TID,
		Interval: o.Interval, Duration: o.Duration,
		Logger: o.Logger, Armed: printer.greet, Emit: printer.counted,
	})
	switch {
	case errors.Is(err, histtrigger.ErrNoTriggers):
		return o.Way == "triggers", err
	case err != nil:
		return true, err
	}
	if err := printer.leave(); err != nil {
		return true, err
	}
	sayTriggerAccount(o.Stderr, account)
	return true, set.SayMissed(o.Stderr)
}

// errNoEvents says why the kernel can't measure on its own.
var errNoEvents = errors.New("hist triggers need tracefs events at one entry and one return")

// attachPair opens probes at the entry and the return of one function.
func (o *Options) attachPair(spec *spec) (*probe.Set, error) {
	options := o.probes()
	options.Calls, options.Method, options.Limit = probe.TimedCalls, kprobe.MethodKprobeEvents, 1
	set, err := o.attach(spec, options)
	var several *kprobe.TooManyError
	switch {
	case errors.As(err, &several):
		return nil, fmt.Errorf("%w, not %d functions", errNoEvents, several.Count)
	case errors.As(err, new(*kprobe.MethodError)):
		return nil, fmt.Errorf("%w: %w", errNoEvents, err)
	case errors.As(err, new(*uprobe.TooManyError)):
		return nil, errNotOne
	case err != nil:
		return nil, err
	case !set.Sources[1].Site.Return:
		set.Release(o.Stderr)
		return nil, errNotOne
	}
	return set, nil
}

// errNotOne says why the kernel can't measure the calls of some user functions.
var errNotOne = fmt.Errorf("%w, not several functions or a Go function", errNoEvents)

// sayTriggerAccount writes which calls are missing in the kernel's histogram.
func sayTriggerAccount(w io.Writer, a histtrigger.Account) {
	if calls := max(a.Entered, a.Left); calls > a.Values {
		fmt.Fprintf(w, "not in the histogram: %d of %d calls, which began earlier, had not returned at the end, or contained another call of the function (--way pairs tells them apart and counts the last kind)\n",
			calls-a.Values, calls)
	}
	if a.Dropped > 0 {
		fmt.Fprintf(w, "the kernel dropped %d hits, because there were too many threads\n", a.Dropped)
	}
}
