package main

import (
	"context"
	"errors"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/internal/output/stdio"
)

const reportUsage = `report [options] [FILE]

Show where the samples of a recording are: a perf.data file of ringtap record or perf record,
its output through a pipe, or the directory of perf record --threads. FILE may also be a
profile: folded stacks, pprof, the text of perf script, or ringtap's own JSON. Without FILE,
read perf.data in the current directory; - is standard input.

  ringtap report                               perf.data, as ringtap on-cpu would show it
  ringtap report --out cpu.html perf.data      a flame graph
  ringtap report --pid 4242 --time 5000.5,5003 one process, part of the time
  perf record -a -g -o - sleep 5 | ringtap report -
  ringtap report --stdio --sort comm,dso       the table of perf report

Stacks are the recorded callchains (perf record -g), or are unwound from the recorded copies
of the stack (--call-graph dwarf). Each event has a table of its own.

Names come from the files that were recorded, never from others: a file on this machine is
used only if it has the recorded build id. ringtap looks for it below --symfs, in perf's cache
(~/.debug), in debuginfod's cache, and at its own path. The same holds for the kernel. Otherwise
the names are those that ringtap record wrote into the recording.

With --stdio, the layout and the percentages are those of perf report --stdio --no-inline
--no-group, with its sort keys: pid is the number of a thread. Its -t is --field-separator,
and -g takes graph or fractal, the least percentage, caller or callee, and percent, period or
count. Names may differ, as with ringtap script: functions that no symbol table names have one
row each, where perf has a row for each address. Addresses outside of all mappings are left out
of callchains. Recordings from a pipe have children, too. Without --sort, tracepoints have the
keys of other events.

From a file that was cut off, or that a killed perf left behind, ringtap reports everything
that is intact, and then the offset where it ends.
`

// report is ringtap report.
func report(ctx context.Context, out *console, args []string) error {
	l := loader{out: out, show: &reportFlags{recorded: true}, from: &recordingFlags{}}
	var perf stdioFlags
	flags := newFlags(out, "report", reportUsage)
	l.addFlags(flags)
	perf.add(flags)
	path, err := l.parse(flags, args)
	if err != nil {
		return err
	}
	if l.perf, err = perf.options(flags); err != nil {
		return err
	}
	p, damage := l.load(ctx, path)
	if p == nil {
		return damage
	}
	printer := newPrinter(out, l.show, true, nil, nil)
	if l.perf != nil {
		err := ignoreClosedPipe(stdio.Write(out.stdout, p, *l.perf))
		return errors.Join(err, printer.writeAccounts(out.stderr, p), damage)
	}
	err = ignoreClosedPipe(errors.Join(printer.writeEach(p), printer.end(p.Accounts)))
	return errors.Join(err, l.show.write(out, p, l.timeline), damage)
}

// addFlags defines the flags of a command that loads profiles.
func (l *loader) addFlags(flags *pflag.FlagSet) {
	l.from.add(flags)
	l.show.addStacks(flags)
	l.addMemory(flags)
	l.show.addOutput(flags, "")
}

func (l *loader) addMemory(flags *pflag.FlagSet) {
	flags.IntVar(&l.show.memory, "max-memory", 1024, "use at most this many `MIB` for distinct stacks, and for the times in .firefox.json; beyond that, new stacks are merged, and samples have no time")
}

// parse parses the command line of a command that loads one file, and returns its path.
func (l *loader) parse(flags *pflag.FlagSet, args []string) (path string, err error) {
	if err := parse(flags, args); err != nil {
		return "", err
	}
	if path, err = l.from.take(flags.Args()); err != nil {
		return "", err
	}
	return path, l.show.validate(flags)
}
