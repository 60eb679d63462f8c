package main

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/launch"
	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/collect"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/text/match"
)

// A question is a collector on the command line, with its own flags. One run may have
// several questions, and probe may appear more than once.
type question interface {
	// flags defines the flags of the question.
	flags(flags *pflag.FlagSet)
	// take is called each time the question's name appears, with the arguments after
	// it. It uses the first argument or none, and returns the others.
	take(args []string) (rest []string, err error)
	// validate checks the flags before anything is opened. Its error is a *usage.Error.
	validate() error
	// open makes the collectors.
	open(run *collect.Run) ([]table.Collector, error)
}

// plain is the part of questions that take no arguments and have nothing to validate.
type plain struct{}

func (plain) take(args []string) ([]string, error) { return args, nil }

func (plain) validate() error { return nil }

// questionKind is a collector's name and help.
type questionKind struct {
	name, other    string // other is stack_analyzer's spelling; "" if it is the same
	summary, usage string
	new            func() question
}

var questionKinds = []questionKind{
	{"on-cpu", "on_cpu", "where CPU time goes, per call stack", onCPUUsage, func() question { return &onCPU{} }},
	{"off-cpu", "off_cpu", "where threads wait, and for how long, per call stack", offCPUUsage, func() question { return &offCPU{} }},
	{"memleak", "", "memory allocated and not freed, per call stack", memleakUsage, func() question { return &memleakQuestion{} }},
	{"io", "", "bytes read and written, and the latency, per call stack", ioUsage, func() question { return &ioQuestion{} }},
	{"readahead", "", "readahead pages, used and unused, per call stack", readaheadUsage, func() question { return &readaheadQuestion{} }},
	{"llc", "llc_stat", "last-level cache misses and hit ratio, per call stack", llcUsage, func() question { return &llcQuestion{} }},
	{"probe", "", "time spent in a function, and its calls, per call stack", probeUsage, func() question { return &probeQuestion{} }},
}

// kindOf returns the kind of that name, or nil.
func kindOf(name string) *questionKind {
	for i := range questionKinds {
		if kind := &questionKinds[i]; name != "" && (name == kind.name || name == kind.other) {
			return kind
		}
	}
	return nil
}

// command returns the command that runs this collector, and the others that its arguments name.
func (k *questionKind) command() command {
	var aliases []string
	if k.other != "" {
		aliases = []string{k.other}
	}
	return command{k.name, aliases, k.summary, func(ctx context.Context, out *console, args []string) error {
		return ask(ctx, out, k, args)
	}}
}

// ask runs the collectors that a command line names. first is the command's own.
func ask(ctx context.Context, out *console, first *questionKind, args []string) (err error) {
	var common collectorFlags
	flags := newFlags(out, first.name, first.usage)
	common.add(flags)
	named := questionsIn(args, first)
	for i := range questionKinds {
		if q := named[&questionKinds[i]]; q != nil {
			q.flags(flags)
			manual.SetGroup(flags, "Options of "+questionKinds[i].name)
		}
	}
	if err := parse(flags, args); err != nil {
		return err
	}
	own, err := common.takeCommand(flags)
	if err != nil {
		return err
	}
	maxRate, _ := process.Host{}.Sysctl("kernel/perf_event_max_sample_rate") // "" sets no limit
	common.setFrequency(flags, maxRate)
	if err := common.validate(flags); err != nil {
		return err
	}
	common.once(flags)
	if !flags.Changed("tables") {
		common.tables = first.other != "" && out.called == first.other
	}
	asked, err := takeQuestions(named, first, own)
	if err != nil {
		return err
	}
	for _, q := range asked {
		if err := q.validate(); err != nil {
			return err
		}
	}
	target, command, err := common.open()
	if err != nil {
		return err
	}
	defer launch.Leave(command)
	removeStale()
	var notes []string // printed after the first report
	run := &collect.Run{Target: &common.Target, Watched: target, Started: command,
		User: common.user, Kernel: common.kernel, Unwind: stack.Unwind(common.unwind), Frequency: common.frequency,
		Stderr: out.stderr, Note: func(text string) { notes = append(notes, text) }, Logger: out.logger(common.verbose)}
	defer func() { err = errors.Join(err, run.Close()) }()
	var collectors []table.Collector
	for _, q := range asked {
		made, err := q.open(run)
		if err != nil {
			for _, note := range notes {
				out.note(note)
			}
			return err
		}
		collectors = append(collectors, made...)
	}
	if note := common.Note(process.Host{}); note != "" {
		notes = append(notes, note)
	}
	return runCollectors(ctx, out, &common, target, command, collectors, notes)
}

// questionsIn returns a question for first and for each other collector whose name is
// in args. Their flags must be defined before args are parsed.
func questionsIn(args []string, first *questionKind) map[*questionKind]question {
	named := map[*questionKind]question{first: first.new()}
	for _, arg := range args {
		if arg == "--" {
			break
		}
		if kind := kindOf(arg); kind != nil && named[kind] == nil {
			named[kind] = kind.new()
		}
	}
	return named
}

// takeQuestions returns the questions that the command line asks, in order: first, and
// those that args name.
func takeQuestions(named map[*questionKind]question, first *questionKind, args []string) ([]question, error) {
	var asked []question
	for kind := first; ; kind, args = kindOf(args[0]), args[1:] {
		q := named[kind]
		rest, err := q.take(args)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(asked, q) {
			asked = append(asked, q)
		} else if len(rest) == len(args) {
			return nil, usagef("%s appears twice", kind.name)
		}
		if args = rest; len(args) == 0 {
			return asked, nil
		}
		if kindOf(args[0]) == nil {
			return nil, unexpected(kind, args)
		}
	}
}

// unexpected returns the error for rest[0], an argument that no collector takes. kind is the
// collector before it.
func unexpected(kind *questionKind, rest []string) error {
	arg := rest[0]
	var collectors []string
	for i := range questionKinds {
		collectors = append(collectors, questionKinds[i].name)
	}
	near := match.Near(arg, collectors)
	number, err := strconv.ParseFloat(arg, 64)
	switch {
	case err == nil && number == math.Trunc(number) && number > 0:
		return usagef("unexpected argument %q; for process %[1]s, use -p %[1]s; to end after %[1]s seconds, use -d %[1]s", arg)
	case err == nil:
		return usagef("unexpected argument %q; to end after %[1]s seconds, use -d %[1]s", arg)
	case near != nil:
		return usagef("unexpected argument %q; %s", arg, match.DidYouMean(near))
	case isProgram(arg):
		return usagef("unexpected argument %q; to run a command, put it after --: ringtap %s -- %s", arg, kind.name, strings.Join(rest, " "))
	}
	return usagef("unexpected argument %q; the collectors are %s SPEC, and a command to run goes after --", arg, strings.Join(collectors, ", "))
}
