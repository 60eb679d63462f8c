package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/histogram"
	"github.com/ringtap/ringtap/internal/manual"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/profiler"
	"github.com/ringtap/ringtap/internal/questions/calls"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/syscalltext"
	"github.com/ringtap/ringtap/internal/table"
)

const histUsage = `hist [options] {FUNCTION | DEFINITION | SYSTEM:EVENT FIELD} [FILTER] [-- COMMAND ARG...]

Print a histogram of how long calls of a function take, or of a value. FUNCTION is a
kernel function (vfs_read) or TARGET:FUNCTION, where TARGET is a path, a command or a
library. It may be a pattern; each function then has its own histogram. DEFINITION is what
uprobe and kprobe take, with one argument, whose values are counted. FIELD is a field of
the tracepoint SYSTEM:EVENT. FILTER is the kernel's event filter, over fields and
arguments.

  ringtap hist -d 5 libc:malloc                  how long malloc takes
  ringtap hist -p 1182 --unit us ./prog:handle   in microseconds, one process
  ringtap hist vfs_read                          a kernel function
  ringtap hist -i 1 -T --linear 0,10,1 --unit ms libc:poll
  ringtap hist -s libc:malloc -- ./prog          a histogram for each call stack
  ringtap hist 'p:libc:malloc $arg1'             the sizes that programs ask for
  ringtap hist 'r:libc:read $retval'             what read returns
  ringtap hist 'p:vfs_read count=$arg3' 'count < 100'
  ringtap hist 'block:block_rq_issue bytes'      a field of a tracepoint

[4K, 8K) counts values from 4096 up to, but not including, 8192. The kernel itself counts
the times of its functions where it can (hist triggers), unless you ask for stacks. If a
function calls itself, it counts the innermost call only; --way pairs counts all.
`

// histFlags are the flags of hist.
type histFlags struct {
	targetFlags
	duration, interval secondsFlag
	times              bool
	unit               string
	linear             string
	stacks             bool
	user, kernel       bool
	top                int
	way                string
	json               bool
	exact              bool
	limit              int
	verbose            bool

	scale histogram.Scale
}

// units are the units of time that histograms may have.
var units = map[string]struct {
	length time.Duration
	name   string
}{
	"ns": {time.Nanosecond, "nsecs"},
	"us": {time.Microsecond, "usecs"},
	"ms": {time.Millisecond, "msecs"},
}

func printHistogram(ctx context.Context, out *console, args []string) error {
	var h histFlags
	flags := newFlags(out, "hist", histUsage)
	h.add(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	rest, err := h.validate(flags)
	if err != nil {
		return err
	}
	switch {
	case len(rest) == 0:
		return usagef("give a function or value to measure, such as vfs_read or libc:malloc")
	case len(rest) > 2:
		return usagef("unexpected argument %q: a definition and a filter, each in one pair of quotes", rest[2])
	}
	return h.measure(ctx, out, rest[0], strings.Join(rest[1:], ""))
}

// add defines the flags.
func (h *histFlags) add(flags *pflag.FlagSet) {
	h.targetFlags.add(flags)
	h.addCgroup(flags)
	addDuration(flags, &h.duration, "; otherwise Ctrl-C or the end of the target ends the run")
	addInterval(flags, &h.interval, "")
	manual.SetGroup(flags, whenGroup)
	flags.BoolVarP(&h.stacks, "by-stack", "s", false, "print a histogram for each call stack")
	addUser(flags, &h.user, ": with -s, by the user stack (default for user functions)")
	addKernel(flags, &h.kernel, ": with -s, by the kernel stack (default for kernel functions and tracepoints)")
	addExact(flags, &h.exact)
	addLimit(flags, &h.limit, 50)
	addWay(flags, &h.way, "auto", ": triggers (count in the kernel), pairs (match entries and returns here), or auto", "auto", "triggers", "pairs")
	manual.SetGroup(flags, whatGroup)
	flags.StringVar(&h.unit, "unit", "ns", "measure calls in `UNIT`: ns, us or ms")
	manual.SetValues(flags, "unit", "ns", "us", "ms")
	flags.StringVar(&h.linear, "linear", "", "use buckets of equal width, `MIN,MAX,STEP` in the unit (default: powers of two)")
	addTop(flags, &h.top, "t", 10, ": stacks, by calls, with -s")
	addTimestamp(flags, &h.times, ", with each interval")
	addJSON(flags, &h.json, ", an object for each interval")
	addVerbose(flags, &h.verbose, "")
	manual.SetGroup(flags, outputGroup)
}

// validate takes the command to run from the parsed flags, and refuses what
// makes no sense. It returns the arguments before the command. Its errors are
// usageErrors.
func (h *histFlags) validate(flags *pflag.FlagSet) ([]string, error) {
	args, err := h.takeCommand(flags)
	if err != nil {
		return nil, err
	}
	if h.linear != "" {
		if h.scale, err = histogram.ParseLinear(h.linear); err != nil {
			return nil, usagef("--linear: %v", err)
		}
	}
	if err := h.check(flags); err != nil {
		return nil, err
	}
	_, known := units[h.unit]
	switch {
	case !known:
		return nil, usagef("--unit %s: one of ns, us, ms", h.unit)
	case h.way != "auto" && h.way != "triggers" && h.way != "pairs":
		return nil, usagef("--way %s: one of auto, triggers, pairs", h.way)
	case h.top < 1:
		return nil, usagef("-t %d: at least one stack", h.top)
	case h.limit < 1:
		return nil, usagef("--limit %d: at least one function", h.limit)
	}
	h.stacks = h.stacks || h.user || h.kernel
	return args, nil
}

// measure finds out what is to be measured and measures it.
func (h *histFlags) measure(ctx context.Context, out *console, text, filter string) error {
	spec, err := h.parseSpec(text)
	if err != nil {
		return err
	}
	if filter != "" && !spec.value {
		return usagef("hist measures how long %s takes, and there are no fields to filter; to count values of %s, put it in the same quotes: '%s %s'", text, filter, text, filter)
	}
	if use, err := h.useTriggers(out, spec); err != nil {
		return err
	} else if use {
		done, err := h.measureInKernel(ctx, out, spec)
		if done {
			return ignoreClosedPipe(err)
		}
		out.logger(h.verbose).Debug("not counted in the kernel", "reason", err)
	}
	return ignoreClosedPipe(h.measureHere(ctx, out, spec, filter))
}

// measureHere measures by samples that come to us.
func (h *histFlags) measureHere(ctx context.Context, out *console, spec *histSpec, filter string) (err error) {
	target, command, err := h.target()
	if err != nil {
		return err
	}
	defer leave(command)
	options := h.options(out)
	options.Target, options.Filter = target, filter
	options.Calls = probe.TimedCalls
	if spec.value {
		options.Calls, options.Values, options.Sharing = probe.NoCalls, true, probe.ShareAll
	}
	set, err := attach(out, spec.Spec, options)
	if err != nil {
		return err
	}
	defer closing(out, set)
	h.sayChildren(out)
	texts, err := h.texts(out, spec, set, filter)
	if err != nil {
		return wrongSpec(err)
	}
	defer func() { err = errors.Join(err, texts.Close()) }()
	printer := &histPrinter{flags: h, out: out.stdout, subject: h.subject(spec, set)}
	out.recording.Store(true)
	collectors, err := h.collectors(printer.subject, h.stackKinds(spec, set), texts.Sources)
	var field *calls.FieldError
	if errors.As(err, &field) && spec.Place != probe.Tracepoint {
		return usagef("%s", field.Reason)
	}
	if err != nil {
		return err
	}
	if values, ok := lone(collectors).(*calls.Values); ok {
		values.Early = texts.Seen()
	}
	result, err := profiler.Run(ctx, profiler.Options{
		Target: target, Collectors: collectors, Memory: histMemory,
		Interval: time.Duration(h.interval), Duration: time.Duration(h.duration),
		Logger: out.logger(h.verbose), Armed: printer.greet, Report: printer.profiled,
	})
	if err != nil {
		return wrongSpec(set.ExplainFilter(err))
	}
	if err := printer.leave(); err != nil {
		return err
	}
	printer.account(out.stderr, collectors, result)
	return errors.Join(ended(ctx, out.stderr, command), printMissed(out, set))
}

// texts has a system call's tracepoint compare the texts that its filter names, which the
// kernel records as addresses.
func (h *histFlags) texts(out *console, spec *histSpec, set *probe.Set, filter string) (*syscalltext.Attachment, error) {
	if spec.Place != probe.Tracepoint || filter == "" {
		return &syscalltext.Attachment{Sources: set.Sources}, nil
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil, err
	}
	return syscalltext.Attach(set.Sources, syscalltext.Options{Tracefs: tracefs, Filter: filter, Logger: out.logger(h.verbose)})
}

// lone is a collector that is the only one; nil where there are others, among whose
// samples its texts are not told apart.
func lone(collectors []table.Collector) table.Collector {
	if len(collectors) != 1 {
		return nil
	}
	return collectors[0]
}

// histMemory bounds what distinct stacks and histograms take, in bytes.
const histMemory = 256 << 20

// collectors are those of the subject's functions, of which each that has sources has one.
func (h *histFlags) collectors(subject *histSubject, stacks stack.Stacks, sources []probe.Source) ([]table.Collector, error) {
	var collectors []table.Collector
	for i, function := range subject.functions {
		var own []probe.Source
		for _, s := range sources {
			if s.Function == i {
				own = append(own, s)
			}
		}
		if len(own) == 0 {
			continue // its places share an event with those of another
		}
		subject.indexes = append(subject.indexes, i)
		if subject.field == "" {
			timed := calls.NewCalls(function, own, stacks)
			timed.Histogram, timed.Unit = &h.scale, units[h.unit].length
			collectors = append(collectors, timed)
			continue
		}
		values, err := calls.NewValues(calls.Hits{Spec: function, Sources: own, Stacks: stacks}, subject.field, h.scale)
		if err != nil {
			return nil, err
		}
		collectors = append(collectors, values)
	}
	return collectors, nil
}

// options are how all that is measured is attached.
func (h *histFlags) options(out *console) probe.Options {
	return probe.Options{View: h.view(), Exact: h.exact, Limit: h.limit, UserStacks: h.user, Logger: out.logger(h.verbose)}
}

// stackKinds are the stacks by which is counted.
func (h *histFlags) stackKinds(spec *histSpec, set *probe.Set) stack.Stacks {
	if !h.stacks {
		return stack.Stacks{}
	}
	user, kernel := h.user, h.kernel
	if !user && !kernel {
		user, kernel = spec.Place == probe.User, spec.Place != probe.User
	}
	stacks := lineStacks(user, kernel)
	stacks.Entry = set.AtEntry
	return stacks
}

// histSubject is what is measured, for people.
type histSubject struct {
	text      string   // what it is called
	functions []string // with a histogram each
	indexes   []int    // of them, that of each collector
	field     string   // whose values are counted; "" if it is the time of calls
}

// subject is what a set of sources measures.
func (h *histFlags) subject(spec *histSpec, set *probe.Set) *histSubject {
	s := &histSubject{text: spec.Text, functions: set.Functions, field: cmp.Or(spec.field, set.Value)}
	if len(s.functions) == 1 && spec.Place == probe.User {
		s.functions = []string{spec.Text}
	}
	if spec.Place == probe.Tracepoint {
		for i := range s.functions {
			s.functions[i] += " " + spec.field
		}
	}
	return s
}

// describe names what was measured, for messages.
func (s *histSubject) describe() string {
	if n := len(s.functions); n > 1 {
		return fmt.Sprintf("%s (%d functions)", s.text, n)
	}
	return s.text
}
