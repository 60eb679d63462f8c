package main

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/engine/recording"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/trace/script"
)

const scriptUsage = `script [options] [FILE]

Print the samples of a recording (ringtap record, perf record) in the order of time, as perf
script does. Programs that read the text of perf script read this too. Without FILE, read
perf.data in the current directory; - is standard input.

  ringtap script                               perf.data
  ringtap script | stackcollapse-perf.pl | flamegraph.pl > cpu.svg
  ringtap script -F comm,pid,tid,time,ip,sym   other fields
  ringtap script -F +pid,-period --ns          the default fields but these
  ringtap script -G --pid 4242 --time 5000.5,5003
  perf record -a -g -o - sleep 5 | ringtap script -

The fields are ` + "FIELDS" + `. By default, ringtap
prints those that the samples have, except pid, and for tracepoints except period.

Inlined functions are printed only with --inlines, as by perf script --no-inline. Names may
differ from perf's: a function may have several. ringtap looks up callers at their call, where
perf looks up the return address. It also names the functions of stripped Go programs.

Files and kernels are found as by ringtap report.
`

// scriptFlags are the flags of ringtap script.
type scriptFlags struct {
	from    recordingFlags
	fields  string
	options script.Options
	verbose bool
}

func (s *scriptFlags) add(flags *pflag.FlagSet) {
	s.from.add(flags)
	flags.StringVarP(&s.fields, "fields", "F", "", "print the fields in `LIST`, or change the default: +pid,-period")
	flags.BoolVarP(&s.options.NoCallchains, "hide-call-graph", "G", false, "print only where each sample was taken, not its callers")
	flags.IntVar(&s.options.MaxStack, "max-stack", 127, "print at most `N` frames of a callchain")
	flags.BoolVar(&s.options.Inlines, "inlines", false, "show inlined functions, as perf script without --no-inline does")
	flags.BoolVar(&s.options.Nanoseconds, "ns", false, "print times in nanoseconds")
	addVerbose(flags, &s.verbose, "v")
	manual.SetGroup(flags, outputGroup)
}

// printScript is ringtap script.
func printScript(ctx context.Context, out *console, args []string) error {
	var s scriptFlags
	flags := newFlags(out, "script", strings.Replace(scriptUsage, "FIELDS", strings.Join(script.FieldNames(), ", "), 1))
	s.add(flags)
	if err := parse(flags, args); err != nil {
		return err
	}
	path, err := s.from.take(flags.Args())
	if err != nil {
		return err
	}
	if s.options.MaxStack < 1 {
		return usagef("--max-stack %d: at least one frame", s.options.MaxStack)
	}
	if flags.Changed("fields") {
		if s.options.Fields, err = script.ParseFields(s.fields); err != nil {
			return usagef("-F: %w", err)
		}
	}
	file, err := perfdata.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(s.print(ctx, out, file), file.Close())
}

// print prints the samples of a recording, and then what was wrong with it.
func (s *scriptFlags) print(ctx context.Context, out *console, file *perfdata.File) error {
	source, err := recording.New(file, recording.Options{Files: s.from.files(), Kallsyms: s.from.kallsyms, Keep: s.from.keep})
	if err != nil {
		return err
	}
	o := s.options
	o.Source, o.Events, o.DebugFiles, o.Out, o.Logger = source, source.Events, s.from.debugFiles, out.stdout, out.logger(s.verbose)
	o.Formats, o.KernelStrings = file.Formats, file.KernelStrings
	for i := range file.Events {
		o.EventWidth = max(o.EventWidth, len(file.Events[i].Name))
	}
	account, err := script.Run(ctx, o)
	if err != nil {
		return ignoreClosedPipe(err)
	}
	for _, note := range recordingNotes(file, source, account.All().Lost, account.Notes()) {
		out.note(note)
	}
	return source.Damage()
}
