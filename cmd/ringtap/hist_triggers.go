package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/measure"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/perfevent"
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
	case h.command != nil:
		reason = "a command is followed from its first instruction on"
	case h.way == "pairs":
		reason = "asked for"
	case h.way == "auto" && spec.place == inUser:
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
	s := &histSubject{text: spec.text, functions: []string{spec.text}, inKernel: spec.place == inKernel}
	defer s.close(out)
	var enter, leave *ftrace.Format
	if spec.place == inKernel {
		enter, leave, err = h.defineKernelCalls(out, s, spec)
	} else {
		enter, leave, err = h.defineUserCalls(out, s, spec)
	}
	if err != nil {
		return h.way == "triggers" || !errors.Is(err, errNoEvents), err
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return true, err
	}
	printer := &histPrinter{flags: h, out: out.stdout, subject: s}
	account, err := measure.Triggers(ctx, measure.TriggerOptions{
		Tracefs: tracefs, Enter: enter, Leave: leave, PID: h.pid, TID: h.tid,
		Interval: time.Duration(h.interval), Duration: time.Duration(h.duration),
		Logger: out.logger(h.verbose), Armed: printer.greet, Emit: printer.print,
	})
	switch {
	case errors.Is(err, measure.ErrNoTriggers):
		return h.way == "triggers", err
	case err != nil:
		return true, err
	}
	if err := printer.leave(); err != nil {
		return true, err
	}
	sayTriggerAccount(out.stderr, account)
	return true, sayMissed(out, s.kprobes...)
}

// errNoEvents is why the kernel can't count by itself.
var errNoEvents = errors.New("it takes events of tracefs at one entry and one return")

// defineKernelCalls defines events at the entry and the return of a function of
// the kernel.
func (h *histFlags) defineKernelCalls(out *console, s *histSubject, spec *histSpec) (enter, leave *ftrace.Format, err error) {
	entry, back, err := kernelCalls(out, spec.probe, h.kprobeOptions(out))
	if err != nil {
		return nil, nil, err
	}
	var formats []*ftrace.Format
	for _, plan := range []*kprobe.Plan{entry, back} {
		if len(plan.Sites) != 1 {
			return nil, nil, fmt.Errorf("%w, and not %d functions", errNoEvents, len(plan.Sites))
		}
		attachment, err := kprobe.Attach(plan, kprobe.AttachOptions{Way: kprobe.WayKprobeEvents, Logger: out.logger(h.verbose)})
		var none *kprobe.WayError
		if errors.As(err, &none) {
			return nil, nil, fmt.Errorf("%w: %w", errNoEvents, err)
		}
		if err != nil {
			return nil, nil, wrongDefinition(err)
		}
		s.kprobes = append(s.kprobes, attachment)
		s.closers = append(s.closers, attachment.Close)
		formats = append(formats, attachment.Formats[0])
	}
	return formats[0], formats[1], nil
}

// defineUserCalls does so for a user function.
func (h *histFlags) defineUserCalls(out *console, s *histSubject, spec *histSpec) (enter, leave *ftrace.Format, err error) {
	var formats []*ftrace.Format
	for _, kind := range []string{"p:", "r:"} {
		plan, err := resolve(out, kind+spec.probe, h.uprobeOptions(out))
		if err != nil {
			return nil, nil, err
		}
		s.closers = append(s.closers, plan.Close)
		if len(plan.Sites) != 1 || kind == "r:" && !plan.Sites[0].Return {
			return nil, nil, fmt.Errorf("%w, and neither several functions nor one of Go", errNoEvents)
		}
		attachment, err := uprobe.Attach(plan, uprobe.AttachOptions{Target: perfevent.System(), Logger: out.logger(h.verbose)})
		if err != nil {
			return nil, nil, wrongDefinition(err)
		}
		s.closers = append(s.closers, attachment.Close)
		formats = append(formats, attachment.Formats[0])
	}
	return formats[0], formats[1], nil
}

// sayTriggerAccount says which calls are not in a histogram of the kernel's.
func sayTriggerAccount(w io.Writer, a measure.TriggerAccount) {
	if calls := max(a.Entered, a.Left); calls > a.Values {
		fmt.Fprintf(w, "not in the histogram: %d of %d calls, that began before, had not returned at the end, or were around another call of the function (--way pairs tells, and counts the last)\n",
			calls-a.Values, calls)
	}
	if a.Dropped > 0 {
		fmt.Fprintf(w, "%d hits dropped by the kernel: there were too many threads\n", a.Dropped)
	}
}
