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
	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/cli/target"
	"github.com/ringtap/ringtap/internal/cli/usage"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/internal/trace/functrace"
)

// funcFlags are the flags that functrace, funcgraph and funcslower share, with
// the letters of perf-tools.
type funcFlags struct {
	targetFlags // Command is always nil
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

// options returns the options that all function tracers share.
func (f *funcFlags) options(kind functrace.Kind, functions []string) functrace.Options {
	return functrace.Options{Kind: kind, Functions: functions, PIDs: f.PIDs, TID: f.TID,
		Duration: time.Duration(f.duration), Force: f.force}
}

// greeting returns the line that perf-tools prints before the first call. slower is empty or
// " slower than N us".
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

// traceFunctions runs a function tracer. It prints perf-tools' messages before and after the
// tracer's lines.
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
		return nil // the reader closed the pipe, as head(1) does: not a failure
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
