package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/functrace"
	"github.com/ringtap/ringtap/internal/manual"
	"github.com/ringtap/ringtap/internal/target"
	"github.com/ringtap/ringtap/internal/usage"
)

// funcFlags are the flags that functrace, funcgraph and funcslower share, with
// the letters of perf-tools.
type funcFlags struct {
	targetFlags // no command can be run
	duration    secondsFlag
	live        bool
	headers     bool
	force       bool
	verbose     bool
}

// add defines the flags.
func (f *funcFlags) add(flags *pflag.FlagSet) {
	f.targetFlags.add(flags, "L")
	addDuration(flags, &f.duration, " and print everything then")
	addLive(flags, &f.live)
	manual.SetGroup(flags, whenGroup)
	addHeaders(flags, &f.headers)
	addVerbose(flags, &f.verbose, "")
	manual.SetGroup(flags, outputGroup)
}

// options are the part of them that all tracers share.
func (f *funcFlags) options(kind functrace.Kind, functions []string) functrace.Options {
	return functrace.Options{Kind: kind, Functions: functions, PIDs: f.PIDs, TID: f.TID,
		Duration: time.Duration(f.duration), Force: f.force}
}

// greeting is perf-tools' line before the first call.
func (f *funcFlags) greeting(functions []string, slower string) string {
	who, end := "", "... Ctrl-C to end."
	switch {
	case f.PIDs != nil:
		who = " for PID " + target.Join(f.Roots)
	case f.TID != 0:
		who = fmt.Sprintf(" for TID %d", f.TID)
	}
	if f.duration > 0 {
		end = fmt.Sprintf(" for %s seconds...", formatSeconds(time.Duration(f.duration)))
	}
	return fmt.Sprintf("Tracing \"%s\"%s%s%s\n", escape.Text(strings.Join(functions, " ")), who, slower, end)
}

// traceFunctions runs a tracer with perf-tools' messages around it.
func (f *funcFlags) traceFunctions(ctx context.Context, out *console, o functrace.Options, greeting string) error {
	fs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	lines := out.held(f.duration > 0 && !f.live)
	o.Out, o.Logger = lines, out.logger(f.verbose)
	o.Armed = func(header string) {
		if !f.headers {
			header = ""
		}
		f.sayChildren(out)
		fmt.Fprint(out.stdout, greeting, header)
	}
	ctx, cancel := out.endWithReader(ctx)
	defer cancel()
	out.recording.Store(true)
	account, err := functrace.Run(ctx, fs, o)
	if err == nil {
		err = lines.Release()
	}
	var wrong *functrace.NameError
	var busy *ftrace.BusyError
	switch {
	case errors.Is(err, syscall.EPIPE):
		return nil // what reads our lines has seen enough (head(1)): that is no failure
	case errors.As(err, &wrong):
		return &usage.Error{Err: err}
	case errors.As(err, &busy) && busy.Ringtap:
		return fmt.Errorf("%w. This kernel has only one function_graph tracer: end the other ringtap first", err)
	case errors.As(err, &busy):
		return fmt.Errorf("%w. This kernel has only one function_graph tracer, or only one filter and threshold for it: -F takes it anyway", err)
	case err != nil:
		return err
	}
	if account.Lost > 0 {
		fmt.Fprintf(out.stderr, "lost %d records, which came faster than ringtap could read them\n", account.Lost)
	}
	_, err = fmt.Fprint(out.stdout, "\nEnding tracing...\n")
	return ignoreClosedPipe(err)
}
