// Package hist makes histograms of how long calls take, or of values. The kernel makes them if it
// can. Otherwise ringtap makes them of samples.
//
//	Spec → probe.Set ─┬─ entry, return → histtrigger → Window ────────────┐
//	                  └─ sources → collect/calls → profiler → Profile ────┴→ text, JSON
package hist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/cli/launch"
	"github.com/ringtap/ringtap/internal/cli/target"
	"github.com/ringtap/ringtap/internal/cli/usage"
	"github.com/ringtap/ringtap/internal/collect/calls"
	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/profile/histogram"
	"github.com/ringtap/ringtap/internal/readmem/syscalltext"
	"github.com/ringtap/ringtap/internal/stack"
)

// Options says what to measure, and how to write it.
type Options struct {
	Spec   string // a function or definition for probe.Parse, or "SYSTEM:EVENT FIELD"
	Filter string // on the fields of an event, if values are measured
	Target *target.Target
	View   probe.View
	Exact  bool   // see probe.Options
	Limit  int    // how many functions a pattern may match
	Way    string // one of Ways

	Interval time.Duration // length of a window; 0: one window for the whole run
	Duration time.Duration // 0: until the context is done or the target has ended

	Unit  string // of times, one of Units
	Scale histogram.Scale
	// ByStack makes a histogram for each stack, and shows the Top ones. User and Kernel choose the
	// kinds of stack. If neither is set, it is the kind of code that is measured.
	ByStack, User, Kernel bool
	Top                   int

	JSON  bool // write an object for each window
	Times bool // write the time of day with each window

	Out, Stderr io.Writer
	Note        func(text string) // gets what was understood differently
	Attached    func()            // called before the run starts
	Logger      *slog.Logger
}

// Ways returns the ways to measure: the best one, in the kernel, or in ringtap.
func Ways() []string { return []string{"auto", "triggers", "pairs"} }

// Units returns the units of time for histograms.
func Units() []string { return []string{"ns", "us", "ms"} }

// unitOf returns the length of a unit, and its name in histograms.
func unitOf(unit string) (length time.Duration, name string) {
	switch unit {
	case "us":
		return time.Microsecond, "usecs"
	case "ms":
		return time.Millisecond, "msecs"
	}
	return time.Nanosecond, "nsecs"
}

// Run measures until the context is done, the duration is over or the target has ended. The error
// is a *usage.Error, a launch.StatusError, Out's, or one of package probe.
func Run(ctx context.Context, o Options) error {
	spec, err := o.parse()
	if err != nil {
		return err
	}
	if o.Filter != "" && !spec.value {
		return usage.Errorf("hist measures how long %s takes, and there are no fields to filter; to count values of %s, put it in the same quotes: '%s %s'", o.Spec, o.Filter, o.Spec, o.Filter)
	}
	reason := o.notInKernel(spec)
	if reason != "" && o.Way == "triggers" {
		return usage.Errorf("--way triggers: %s", reason)
	}
	o.Logger.Debug("in the kernel, by hist triggers", "use", reason == "", "reason", reason)
	if reason == "" {
		done, err := o.measureInKernel(ctx, spec)
		if done {
			return err
		}
		o.Logger.Debug("not counted in the kernel", "reason", err)
	}
	return o.measureHere(ctx, spec)
}

// measureHere measures by samples.
func (o *Options) measureHere(ctx context.Context, spec *spec) (err error) {
	target, command, err := launch.Open(o.Target)
	if err != nil {
		return err
	}
	defer launch.Leave(command)
	options := o.probes()
	options.Target, options.Filter = target, o.Filter
	options.Calls = probe.TimedCalls
	if spec.value {
		options.Calls, options.Values, options.Sharing = probe.NoCalls, true, probe.ShareAll
	}
	set, err := o.attach(spec, options)
	if err != nil {
		return err
	}
	defer set.Release(o.Stderr)
	texts, err := o.texts(spec, set)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, texts.Close()) }()
	printer := &printer{o, o.subject(spec, set)}
	o.Attached()
	collectors, err := o.collectors(printer.subject, o.stackKinds(spec, set), texts.Sources)
	var field *calls.FieldError
	if errors.As(err, &field) && spec.Place != probe.Tracepoint {
		return usage.Errorf("%s", field.Reason)
	}
	if err != nil {
		return err
	}
	if values, ok := lone(collectors).(*calls.Values); ok {
		values.Early = texts.Seen()
	}
	result, err := profiler.Run(ctx, profiler.Options{
		Target: target, Collectors: collectors, Memory: maxMemory,
		Interval: o.Interval, Duration: o.Duration,
		Logger: o.Logger, Armed: printer.greet, Report: printer.profiled,
	})
	if err != nil {
		return set.ExplainFilter(err)
	}
	if err := printer.leave(); err != nil {
		return err
	}
	printer.account(collectors, result)
	return errors.Join(launch.End(ctx, o.Stderr, command), set.SayMissed(o.Stderr))
}

// texts makes a system call's tracepoint compare the texts in the filter. The kernel records only
// their addresses.
func (o *Options) texts(spec *spec, set *probe.Set) (*syscalltext.Attachment, error) {
	if spec.Place != probe.Tracepoint || o.Filter == "" {
		return &syscalltext.Attachment{Sources: set.Sources}, nil
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return nil, err
	}
	return syscalltext.Attach(set.Sources, syscalltext.Options{Tracefs: tracefs, Filter: o.Filter, Logger: o.Logger})
}

// lone returns the only collector, or nil if there are several. With several, their samples' texts
// could not be told apart.
func lone(collectors []table.Collector) table.Collector {
	if len(collectors) != 1 {
		return nil
	}
	return collectors[0]
}

// maxMemory bounds the memory of distinct stacks and histograms, in bytes.
const maxMemory = 256 << 20

// collectors returns a collector for each of the subject's functions that has sources.
func (o *Options) collectors(subject *subject, stacks stack.Stacks, sources []probe.Source) ([]table.Collector, error) {
	var collectors []table.Collector
	for i, function := range subject.functions {
		var own []probe.Source
		for _, s := range sources {
			if s.Function == i {
				own = append(own, s)
			}
		}
		if len(own) == 0 {
			continue // its places share an event with those of another function
		}
		subject.indexes = append(subject.indexes, i)
		if subject.field == "" {
			timed := calls.NewCalls(function, own, stacks)
			timed.Histogram = &o.Scale
			timed.Unit, _ = unitOf(o.Unit)
			collectors = append(collectors, timed)
			continue
		}
		values, err := calls.NewValues(calls.Hits{Spec: function, Sources: own, Stacks: stacks}, subject.field, o.Scale)
		if err != nil {
			return nil, err
		}
		collectors = append(collectors, values)
	}
	return collectors, nil
}

// probes returns the options for all probes.
func (o *Options) probes() probe.Options {
	return probe.Options{View: o.View, Exact: o.Exact, Limit: o.Limit, UserStacks: o.User, Logger: o.Logger}
}

// attach opens the probes, and passes on their notes.
func (o *Options) attach(spec *spec, options probe.Options) (*probe.Set, error) {
	set, err := probe.Open(spec.Spec, options)
	for _, note := range set.Notes {
		o.Note(note)
	}
	return set, err
}

// stackKinds returns the stacks by which to count.
func (o *Options) stackKinds(spec *spec, set *probe.Set) stack.Stacks {
	if !o.ByStack {
		return stack.Stacks{}
	}
	user, kernel := o.User, o.Kernel
	if !user && !kernel {
		user, kernel = spec.Place == probe.User, spec.Place != probe.User
	}
	stacks := stack.Lines(user, kernel)
	stacks.Entry = set.AtEntry
	return stacks
}

// subject describes what is measured, for output.
type subject struct {
	text      string   // name of the whole
	functions []string // names; each has a histogram
	indexes   []int    // by collector: index into functions
	field     string   // whose values are counted; "" if times are measured
}

// subject returns the description of what a set of probes measures.
func (o *Options) subject(spec *spec, set *probe.Set) *subject {
	s := &subject{text: spec.Text, functions: set.Names(), field: cmp.Or(spec.field, set.Value)}
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

// describe returns what was measured, for messages.
func (s *subject) describe() string {
	if n := len(s.functions); n > 1 {
		return fmt.Sprintf("%s (%d functions)", s.text, n)
	}
	return s.text
}
