package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/histtrigger"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/uprobe"
)

// useTriggers tells whether the kernel is to count the times of calls itself. It
// does so for the kernel's functions unless it can't, or told not to; user
// functions more often call themselves, which only pairs get right.
func (h *histFlags) useTriggers(out *console, spec *histSpec) (bool, error) {
	reason := ""
	_, _, _, linear := h.scale.IsLinear()
	switch {
	case spec.value:
		reason = "values are counted here"
	case h.stacks:
		reason = "the kernel's triggers know no stacks"
	case linear:
		reason = "the kernel's triggers count by powers of two"
	case h.unit != "ns":
		reason = "the kernel's triggers count nanoseconds"
	case h.Cgroup != "":
		reason = "the kernel's triggers know no control groups"
	case h.Command != nil:
		reason = "a command is followed from its first instruction on"
	case h.way == "pairs":
		reason = "asked for"
	case h.way == "auto" && spec.Place == probe.User:
		reason = "user functions may call themselves"
	}
	if reason != "" && h.way == "triggers" {
		return false, usagef("--way triggers: %s", reason)
	}
	out.logger(h.verbose).Debug("in the kernel, by hist triggers", "use", reason == "", "reason", reason)
	return reason == "", nil
}

// measureInKernel has the kernel make the histogram. Done is false if it can't and
// another way may do; err then says why.
func (h *histFlags) measureInKernel(ctx context.Context, out *console, spec *histSpec) (done bool, err error) {
	set, err := h.attachPair(out, spec)
	if err != nil {
		return h.way == "triggers" || !errors.Is(err, errNoEvents), err
	}
	defer closing(out, set)
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return true, err
	}
	printer := &histPrinter{flags: h, out: out.stdout, subject: &histSubject{text: spec.Text, functions: []string{spec.Text}}}
	h.sayChildren(out)
	out.recording.Store(true)
	account, err := histtrigger.Run(ctx, histtrigger.Options{
		Tracefs: tracefs, Enter: set.Sources[0].Format, Leave: set.Sources[1].Format, PIDs: h.PIDs, TID: h.TID,
		Interval: time.Duration(h.interval), Duration: time.Duration(h.duration),
		Logger: out.logger(h.verbose), Armed: printer.greet, Emit: printer.counted,
	})
	switch {
	case errors.Is(err, histtrigger.ErrNoTriggers):
		return h.way == "triggers", err
	case err != nil:
		return true, err
	}
	if err := printer.leave(); err != nil {
		return true, err
	}
	sayTriggerAccount(out.stderr, account)
	return true, printMissed(out, set)
}

// errNoEvents is why the kernel can't count by itself.
var errNoEvents = errors.New("hist triggers need tracefs events at one entry and one return")

// attachPair attaches to the entry and the return of one function.
func (h *histFlags) attachPair(out *console, spec *histSpec) (*probe.Set, error) {
	options := h.options(out)
	options.Calls, options.Method, options.Limit = probe.TimedCalls, kprobe.MethodKprobeEvents, 1
	set, err := attach(out, spec.Spec, options)
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
		closing(out, set)
		return nil, errNotOne
	}
	return set, nil
}

// errNotOne is why the kernel can't count the calls of a user function.
var errNotOne = fmt.Errorf("%w, not several functions or a Go function", errNoEvents)

// sayTriggerAccount says which calls are not in a histogram of the kernel's.
func sayTriggerAccount(w io.Writer, a histtrigger.Account) {
	if calls := max(a.Entered, a.Left); calls > a.Values {
		fmt.Fprintf(w, "not in the histogram: %d of %d calls, which began earlier, had not returned at the end, or contained another call of the function (--way pairs tells them apart and counts the last kind)\n",
			calls-a.Values, calls)
	}
	if a.Dropped > 0 {
		fmt.Fprintf(w, "the kernel dropped %d hits, because there were too many threads\n", a.Dropped)
	}
}
