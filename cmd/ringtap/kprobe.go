package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/follow"
	"github.com/ringtap/ringtap/internal/visible"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/perfevent"
)

const kprobeUsage = `kprobe [flags] {-l [PATTERN] | DEFINITION [FILTER]} [-- COMMAND ARG...]

Traces a place in the kernel and prints a line for each hit, as the kernel does.
DEFINITION is {p|r}:[NAME ][MODULE:]FUNCTION[+OFF][ ARGUMENTS], p for a function's
entry and r for its return. FUNCTION may be a pattern ('vfs_*'). ARGUMENTS are the
kernel's fetch arguments ($arg1, $retval, +0($arg2):string, registers), and with
the kernel's type information C expressions over the function's parameters; $args
stands for all of them. FILTER is the kernel's event filter, over the arguments'
names.

  ringtap kprobe p:do_sys_openat2                       each call, by all processes
  ringtap kprobe 'r:myopen do_sys_openat2 $retval'      what it returns
  ringtap kprobe 'p:vfs_open path->dentry->d_name.name' which file
  ringtap kprobe 'p:vfs_read count' 'count > 65536'
  ringtap kprobe -s p:tcp_retransmit_skb                with kernel stacks
  ringtap kprobe -l 'tcp_*'                             what can be probed
`

// kprobeFlags are the flags of kprobe alone.
type kprobeFlags struct {
	tracerFlags
	list         bool
	kernel, user bool
	limit        int
	way          string
}

func traceKprobe(ctx context.Context, out *console, args []string) error {
	var k kprobeFlags
	flags := newFlags(out, "kprobe", kprobeUsage)
	k.add(flags)
	force := flags.Lookup("force")
	force.Usage, force.Hidden = "probe what the kernel's lists say can't be: the kernel has the last word", false
	flags.BoolVarP(&k.list, "list", "l", false, "list the kernel's functions that can be probed, those that match a pattern if one follows")
	flags.BoolVarP(&k.kernel, "stacks", "s", false, "print the kernel stack of each hit")
	flags.BoolVarP(&k.user, "user", "u", false, "print the user stack of each hit")
	flags.IntVar(&k.limit, "limit", 1000, "the most places that a pattern may stand for")
	flags.StringVar(&k.way, "way", "", "trace by `means`: "+strings.Join(kprobeWays(), ", ")+" (default: the best that the kernel has)")
	if err := parse(flags, args); err != nil {
		return err
	}
	rest, err := k.validate(flags)
	if err != nil {
		return err
	}
	if k.limit < 1 {
		return usagef("--limit %d: at least one place", k.limit)
	}
	if err := checkWay(k.way); err != nil {
		return err
	}
	switch {
	case k.list && len(rest) > 1:
		return usagef("unexpected argument %q: -l takes one pattern", rest[1])
	case k.list:
		return listKernelFunctions(out, strings.Join(rest, ""))
	case len(rest) == 0:
		return usagef("no definition given, such as p:do_sys_openat2")
	case len(rest) > 2:
		return usagef("unexpected argument %q: a definition and a filter, each in one pair of quotes", rest[2])
	}
	return k.trace(ctx, out, rest[0], strings.Join(rest[1:], ""))
}

// kprobeWays are the names of the ways, in the order in which they are tried.
func kprobeWays() []string {
	return []string{string(kprobe.WayPMU), string(kprobe.WayKprobeEvents), string(kprobe.WayFunction), string(kprobe.WayBreakpoint)}
}

func checkWay(way string) error {
	if way == "" || slices.Contains(kprobeWays(), way) {
		return nil
	}
	return usagef("--way %s: one of %s", way, strings.Join(kprobeWays(), ", "))
}

// trace resolves the definition, attaches it and follows its hits.
func (k *kprobeFlags) trace(ctx context.Context, out *console, text, filter string) error {
	logger := out.logger(k.verbose)
	plan, err := resolveKernel(out, text, kprobe.Options{Force: k.force, MaxSites: k.limit, Logger: logger})
	if err != nil {
		return err
	}
	if note := quicker(plan, filter, k.user); note != "" {
		fmt.Fprintln(out.stderr, "note:", visible.Text(note))
	}
	target, command, err := k.target()
	if err != nil {
		return err
	}
	defer leave(command)
	attach := kprobe.AttachOptions{
		Target: target, Filter: filter, Few: target.PerSampling(), Merge: len(plan.Sites) > manyPlaces,
		UserStacks: k.user, Way: kprobe.Way(k.way), Logger: logger,
	}
	if k.view {
		attach.Way = kprobe.WayKprobeEvents // the others have no format file
	}
	attachment, err := kprobe.Attach(plan, attach)
	if err != nil {
		return wrongDefinition(err)
	}
	defer closing(out, attachment)
	if k.view {
		return viewFormats(out, attachment.Formats)
	}
	err = trace(ctx, out, &k.tracerFlags, tracing{
		name: kprobeName(plan), events: kprobeEvents(attachment, plan),
		stacks: lineStacks(k.user, k.kernel), target: target, command: command,
	})
	return errors.Join(err, sayMissed(out, attachment))
}

// slowToArm is from how many probes on one waits for the kernel: it takes some
// milliseconds for each, when it sets them and when it removes them.
const slowToArm = 200

// quicker says which command traces the same calls without waiting; "" if there is
// none, or no need.
func quicker(plan *kprobe.Plan, filter string, user bool) string {
	d := plan.Definition
	if len(plan.Sites) < slowToArm || d.Kind != kprobe.Entry || d.Module != "" || d.Fetch != "" || filter != "" || user {
		return ""
	}
	return fmt.Sprintf("the kernel sets and removes %d probes one by one; ringtap functrace '%s' traces the same calls at once", len(plan.Sites), d.Symbol)
}

// resolveKernel finds the places in the kernel that a definition means, and says
// what must be known of them.
func resolveKernel(out *console, text string, o kprobe.Options) (*kprobe.Plan, error) {
	definition, err := kprobe.Parse(text)
	if err != nil {
		return nil, &usageError{err}
	}
	o.Types = kprobe.KernelTypes("")
	plan, err := kprobe.Resolve(definition, o)
	if err != nil {
		return nil, wrongDefinition(err)
	}
	for _, note := range plan.Notes {
		fmt.Fprintln(out.stderr, "note:", visible.Text(note))
	}
	return plan, nil
}

func kprobeName(plan *kprobe.Plan) string {
	if len(plan.Sites) == 1 {
		return "kprobe " + plan.Sites[0].Event
	}
	return fmt.Sprintf("%d kprobes", len(plan.Sites))
}

func kprobeEvents(a *kprobe.Attachment, plan *kprobe.Plan) []follow.Event {
	var places map[uint64]string
	if len(a.Events) < len(plan.Sites) {
		places = make(map[uint64]string, len(plan.Sites))
		for i := range plan.Sites {
			places[plan.Sites[i].Address] = plan.Sites[i].Event
		}
	}
	var events []follow.Event
	for i, event := range a.Events {
		e := follow.Event{Event: event, Format: a.Formats[i], Filter: a.Filter, Places: places,
			Ask: func(s *perfevent.Sampling) { s.IntrRegs = a.IntrRegs }}
		if a.Raw != nil {
			e.Raw = func(dst []byte, s *perfevent.Sample) []byte { return a.Raw(dst, i, s) }
		}
		events = append(events, e)
	}
	return events
}

// sayMissed says how many hits the kernel itself left out: of functions that its
// handling of probes calls, and of returns when too many calls were under way.
func sayMissed(out *console, attachments ...*kprobe.Attachment) error {
	var sum uint64
	for _, a := range attachments {
		missed, err := a.Missed()
		if err != nil {
			return err
		}
		for _, n := range missed {
			sum += n
		}
	}
	if sum > 0 {
		fmt.Fprintf(out.stderr, "%d hits missed by the kernel: it was in the middle of another probe, or too many calls were under way at once\n", sum)
	}
	return nil
}

// listKernelFunctions prints the kernel's functions that can be probed, one a
// line; where none can it says why.
func listKernelFunctions(out *console, pattern string) error {
	if pattern == "" {
		pattern = "*"
	}
	plan, err := resolveKernel(out, "p:"+pattern, kprobe.Options{MaxSites: math.MaxInt})
	if err != nil {
		return err
	}
	one := *plan
	one.Sites = plan.Sites[:1]
	attachment, err := kprobe.Attach(&one, kprobe.AttachOptions{Target: perfevent.System(), Few: 1})
	if err != nil {
		return err
	}
	defer closing(out, attachment)
	var text strings.Builder
	for i := range plan.Sites {
		text.WriteString(visible.Text(plan.Sites[i].Function.String()) + "\n")
	}
	_, err = fmt.Fprint(out.stdout, text.String())
	return ignoreClosedPipe(err)
}
