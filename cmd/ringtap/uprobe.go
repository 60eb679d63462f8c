package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/follow"
	"github.com/ringtap/ringtap/internal/library"
	"github.com/ringtap/ringtap/internal/visible"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/uprobe"
)

const uprobeUsage = `uprobe [flags] {-l TARGET [PATTERN] | DEFINITION [FILTER]} [-- COMMAND ARG...]

Traces a place in user code and prints a line for each hit, as the kernel does.
DEFINITION is {p|r}:[NAME ]TARGET:{SYMBOL[+OFF]|0xOFFSET|FILE:LINE}[ ARGUMENTS],
p for a function's entry and r for its return, or u:TARGET:PROVIDER:NAME for a
USDT probe. TARGET is a path, a command or a library ("libc"); SYMBOL may be a
C++, Rust or (in quotes) Go name as the source has it, and a pattern ('mem*').
ARGUMENTS are the kernel's fetch arguments, $arg1 and so on, and names of
parameters where there is debug information ($args for all). FILTER is the
kernel's event filter, over the arguments' names.

  ringtap uprobe p:bash:readline                        each call, in all processes
  ringtap uprobe 'r:bash:readline +0($retval):string'   what was typed
  ringtap uprobe 'r:libc:fopen file=$retval' 'file == 0'
  ringtap uprobe -p 1182 -s p:libc:malloc               with stacks, one process
  ringtap uprobe 'p:./prog:func name n'                 parameters by name
  ringtap uprobe -l bash 'read*'                        what can be probed
`

// uprobeFlags are the flags of uprobe alone.
type uprobeFlags struct {
	tracerFlags
	list         string
	demangle     bool
	user, kernel bool
	exact        bool
	limit        int
}

func traceUprobe(ctx context.Context, out *console, args []string) error {
	var u uprobeFlags
	flags := newFlags(out, "uprobe", uprobeUsage)
	u.add(flags)
	flags.StringVarP(&u.list, "list", "l", "", "list the functions of this `target`, those that match a pattern if one follows")
	flags.BoolVar(&u.demangle, "demangle", false, "with -l: C++ and Rust names as the source has them")
	flags.BoolVarP(&u.user, "stacks", "s", false, "print the user stack of each hit")
	flags.BoolVarP(&u.kernel, "kernel", "k", false, "print the kernel stack of each hit")
	flags.BoolVar(&u.exact, "exact", false, "place probes at the very addresses named, though the kernel may have to single-step there")
	flags.IntVar(&u.limit, "limit", 1000, "the most places that a pattern may stand for")
	if err := parse(flags, args); err != nil {
		return err
	}
	rest, err := u.validate(flags)
	if err != nil {
		return err
	}
	if u.limit < 1 {
		return usagef("--limit %d: at least one place", u.limit)
	}
	if flags.Changed("list") {
		return u.listFunctions(out, rest)
	}
	switch {
	case len(rest) == 0:
		return usagef("no definition given, such as p:bash:readline")
	case len(rest) > 2:
		return usagef("unexpected argument %q: a definition and a filter, each in one pair of quotes", rest[2])
	}
	filter := ""
	if len(rest) == 2 {
		filter = rest[1]
	}
	return u.trace(ctx, out, rest[0], filter)
}

func (u *uprobeFlags) options(out *console) uprobe.Options {
	pid := u.pid
	if pid == 0 {
		pid = u.tid
	}
	return uprobe.Options{PID: pid, Exact: u.exact, MaxSites: u.limit, Logger: out.logger(u.verbose)}
}

// trace resolves the definition, attaches it and follows its hits.
func (u *uprobeFlags) trace(ctx context.Context, out *console, text, filter string) error {
	plan, err := resolve(out, text, u.options(out))
	if err != nil {
		return err
	}
	defer plan.Close()
	target, command, err := u.target()
	if err != nil {
		return err
	}
	defer leave(command)
	attach := uprobe.AttachOptions{Target: target, Filter: filter, Few: target.PerSampling(), Merge: len(plan.Sites) > manyPlaces, Logger: out.logger(u.verbose)}
	if u.view {
		attach.Few = 0 // perf's own events have no format file
	}
	attachment, err := uprobe.Attach(plan, attach)
	if err != nil {
		return wrongDefinition(err)
	}
	defer closing(out, attachment)
	if u.view {
		sayPlaces(out, plan)
		return viewFormats(out, attachment.Formats)
	}
	stacks := lineStacks(u.user, u.kernel)
	stacks.Entry = plan.AtEntry()
	return trace(ctx, out, &u.tracerFlags, tracing{
		name: uprobeName(plan), about: plan.String(),
		events: uprobeEvents(attachment, plan), stacks: stacks,
		target: target, command: command,
	})
}

// resolve finds the places that a definition means, and says what must be known
// of them.
func resolve(out *console, text string, o uprobe.Options) (*uprobe.Plan, error) {
	definition, err := uprobe.Parse(text)
	if err != nil {
		return nil, &usageError{err}
	}
	plan, err := uprobe.Resolve(definition, o)
	if err != nil {
		return nil, wrongDefinition(err)
	}
	for _, note := range plan.Notes {
		fmt.Fprintln(out.stderr, "note:", visible.Text(note))
	}
	if o.PID != 0 && len(plan.Sites) > 0 {
		if there, err := library.Mapped(o.PID, plan.Sites[0].KernelPath); err == nil && !there {
			fmt.Fprintf(out.stderr, "note: process %d has not mapped %s: nothing is hit unless it, or a child, loads it\n", o.PID, visible.Text(plan.Path))
		}
	}
	return plan, nil
}

// wrongDefinition makes errors that the command line is to blame for usage
// errors.
func wrongDefinition(err error) error {
	var syntax *ftrace.SyntaxError
	var definition *ftrace.DefinitionError
	var filter *ftrace.FilterError
	if errors.As(err, &syntax) || errors.As(err, &definition) || errors.As(err, &filter) {
		return &usageError{err}
	}
	if errors.As(err, new(*uprobe.TooManyError)) || errors.As(err, new(*kprobe.TooManyError)) {
		return fmt.Errorf("%w; --limit allows more", err)
	}
	return err
}

func uprobeName(plan *uprobe.Plan) string {
	if len(plan.Sites) == 1 {
		return "uprobe " + plan.Sites[0].Event
	}
	return fmt.Sprintf("%d uprobes", len(plan.Sites))
}

// manyPlaces is from how many places on they share an event: see
// uprobe.AttachOptions.Merge.
const manyPlaces = 8

func uprobeEvents(a *uprobe.Attachment, plan *uprobe.Plan) []follow.Event {
	var places map[uint64]string
	if len(a.Events) < len(plan.Sites) {
		places = make(map[uint64]string, len(plan.Sites))
		for i := range plan.Sites {
			places[plan.Sites[i].Offset] = plan.Sites[i].Event
		}
	}
	var events []follow.Event
	for i, event := range a.Events {
		events = append(events, follow.Event{Event: event, Format: a.Formats[i], Filter: a.Filter, Places: places})
	}
	return events
}

// closing closes what was attached and says what stayed behind.
func closing(out *console, a io.Closer) {
	if err := a.Close(); err != nil {
		fmt.Fprintln(out.stderr, "ringtap: probes stay behind:", err)
	}
}
