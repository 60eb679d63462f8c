package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/ringtap/ringtap/internal/cli/launch"
	"github.com/ringtap/ringtap/internal/cli/streams"
	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/output"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/perfevent"
)

// beside is how many bytes of memory Go's runtime may use in addition to --max-memory. All processes
// of a run together may use --max-memory and 256 MiB. Of these 256 MiB, the runtime's limit excludes
// the helper (64), the rings (16) and the pages of ringtap's own file (16). The rest is for waiting
// records, symbols and windows that are being written. Near the limit the garbage collector works harder.
const beside = (256 - 64 - 16 - 16) << 20

// runCollectors runs collectors on target and command, which collectorFlags.open
// returned. It prints a report for each interval and writes the files of the whole
// run. If command is not nil, it returns the command's exit status as an error.
// notes are printed after the first report.
func runCollectors(ctx context.Context, out *console, flags *collectorFlags, target perfevent.Target, command *perfevent.Command, collectors []table.Collector, notes []string) error {
	var metrics []profile.Metric
	for _, collector := range collectors {
		metrics = append(metrics, collector.Plan().Metrics...)
	}
	if err := output.CheckMetric(flags.metric, metrics); err != nil {
		return usagef("--metric: %w", err)
	}
	if flags.trigger.before > 0 {
		if err := profiler.CheckBefore(collectors); err != nil {
			return err
		}
	}
	trigger, disarm, err := flags.trigger.arm(flags.Cgroup, time.Duration(flags.interval))
	if err != nil {
		return err
	}
	defer disarm()
	status := streams.NewStatus(out.stderr, out.live)
	if stdout, ok := out.stdout.(*streams.Output); ok && len(flags.outputs) > 0 {
		stdout.DiscardClosed()
	}
	printer := newPrinter(out, &flags.reportFlags, flags.interval == 0, collectors, notes)
	debug.SetMemoryLimit(int64(flags.memory)<<20 + beside)
	out.recording.Store(true)
	result, err := profiler.Run(ctx, profiler.Options{
		Target: target, Collectors: collectors,
		Interval: time.Duration(flags.interval),
		Trigger:  trigger,
		Duration: time.Duration(flags.duration),
		Whole:    len(flags.outputs) > 0,
		Lines:    flags.inlines,
		JVM:      flags.jvm,
		Memory:   flags.memory << 20,
		Logger:   out.logger(flags.verbose),
		Progress: func(p profiler.Progress) { status.Show(progress(p)) },
		Report: func(p *profile.Profile) error {
			err := status.Without(func() error { return printer.write(p) })
			if errors.Is(err, syscall.EPIPE) && len(flags.outputs) > 0 {
				return nil // the files are still to come
			}
			return err
		},
	})
	status.Close()
	if err != nil {
		printer.writeEarly()
	}
	if errors.Is(err, syscall.EPIPE) {
		return nil // the reader closed the pipe, as head(1) does: not a failure
	}
	if err != nil {
		return err
	}
	if whole := result.Whole; whole != nil {
		whole.Command = strings.Join(os.Args, " ")
		whole.Host, _ = os.Hostname() // "" if unknown
	}
	errs := []error{ignoreClosedPipe(printer.end(result.Accounts)), flags.write(out, result.Whole, nil), ignoreClosedPipe(flags.trigger.said(out, result))}
	sayNotes(out.stderr, result.Notes)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if hint := sleepHint(flags.Command); hint != "" {
		fmt.Fprintln(out.stderr, hint)
	}
	return launch.End(ctx, out.stderr, command)
}

// progress is how far a run is, as the text of a terminal's status line.
type progress profiler.Progress

func (p progress) String() string {
	if p.Frames > 0 {
		return fmt.Sprintf("symbolizing %d of %d frames", p.Named, p.Frames)
	}
	return fmt.Sprintf("sampling %s: %d samples in this interval (Ctrl-C to end)", p.Elapsed.Round(time.Second), p.Samples)
}

// sleepHint returns a hint for users who start a sleep to measure the whole host, as they do
// with perf. It returns "" for other commands.
func sleepHint(command []string) string {
	if len(command) != 2 || filepath.Base(command[0]) != "sleep" {
		return ""
	}
	return fmt.Sprintf("note: ringtap watched %s alone, which does nothing; -d %s watches the whole host for that long", escape.Text(command[0]), escape.Text(command[1]))
}

// sayNotes prints what went wrong in a run, one note per line: see engine.Account.Notes.
func sayNotes(w io.Writer, notes []string) {
	for _, note := range notes {
		fmt.Fprintln(w, note)
	}
}
