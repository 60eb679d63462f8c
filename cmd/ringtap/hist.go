package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/profile/histogram"
	"github.com/ringtap/ringtap/internal/trace/hist"
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
	hist.Options
	duration, interval secondsFlag
	linear             string
	verbose            bool
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
	h.Spec, h.Filter, h.Logger = rest[0], strings.Join(rest[1:], ""), out.logger(h.verbose)
	h.Out, h.Stderr = out.stdout, out.stderr
	h.Note = out.note
	h.Attached = func() {
		h.sayChildren(out)
		out.recording.Store(true)
	}
	removeStale()
	return ignoreClosedPipe(wrongSpec(hist.Run(ctx, h.Options)))
}

// add defines the flags.
func (h *histFlags) add(flags *pflag.FlagSet) {
	h.targetFlags.add(flags, "L")
	h.addCgroup(flags)
	addDuration(flags, &h.duration, "; otherwise Ctrl-C or the end of the target ends the run")
	addInterval(flags, &h.interval, "")
	manual.SetGroup(flags, whenGroup)
	flags.BoolVarP(&h.ByStack, "by-stack", "s", false, "print a histogram for each call stack")
	addUser(flags, &h.User, ": with -s, by the user stack (default for user functions)")
	addKernel(flags, &h.Kernel, ": with -s, by the kernel stack (default for kernel functions and tracepoints)")
	addExact(flags, &h.Exact)
	addLimit(flags, &h.Limit, 50)
	addWay(flags, &h.Way, "auto", ": triggers (count in the kernel), pairs (match entries and returns here), or auto", hist.Ways()...)
	manual.SetGroup(flags, whatGroup)
	flags.StringVar(&h.Unit, "unit", "ns", "measure calls in `UNIT`: ns, us or ms")
	manual.SetValues(flags, "unit", hist.Units()...)
	flags.StringVar(&h.linear, "linear", "", "use buckets of equal width, `MIN,MAX,STEP` in the unit (default: powers of two)")
	addTop(flags, &h.Top, "t", 10, ": stacks, by calls, with -s")
	addTimestamp(flags, &h.Times, ", with each interval")
	addJSON(flags, &h.JSON, ", an object for each interval")
	addVerbose(flags, &h.verbose, "")
	manual.SetGroup(flags, outputGroup)
}

// validate takes the command to run from the parsed flags and checks the flags.
// It returns the arguments before the command. A value that makes no sense is a
// *usage.Error.
func (h *histFlags) validate(flags *pflag.FlagSet) ([]string, error) {
	args, err := h.takeCommand(flags)
	if err != nil {
		return nil, err
	}
	if h.linear != "" {
		if h.Scale, err = histogram.ParseLinear(h.linear); err != nil {
			return nil, usagef("--linear: %v", err)
		}
	}
	if err := h.check(flags); err != nil {
		return nil, err
	}
	switch {
	case !slices.Contains(hist.Units(), h.Unit):
		return nil, usagef("--unit %s: one of %s", h.Unit, strings.Join(hist.Units(), ", "))
	case !slices.Contains(hist.Ways(), h.Way):
		return nil, usagef("--way %s: one of %s", h.Way, strings.Join(hist.Ways(), ", "))
	case h.Top < 1:
		return nil, usagef("-t %d: at least one stack", h.Top)
	case h.Limit < 1:
		return nil, usagef("--limit %d: at least one function", h.Limit)
	}
	h.ByStack = h.ByStack || h.User || h.Kernel
	h.Options.Target, h.Interval, h.Duration = &h.targetFlags.Target, time.Duration(h.interval), time.Duration(h.duration)
	h.View, err = h.view()
	return args, err
}
