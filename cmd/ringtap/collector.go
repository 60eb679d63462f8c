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

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/launch"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/profiler"
	"github.com/ringtap/ringtap/internal/report"
	"github.com/ringtap/ringtap/internal/streams"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// beside is how much memory Go's runtime may use in addition to --max-memory. All processes of a
// run together may use 256 MiB more than that: the helper 64, the rings 16, and the pages of
// ringtap's own file 16, which the runtime's limit does not include. The rest is for records that
// wait, symbols and windows that are being written. Near the limit the garbage collector works harder.
const beside = (256 - 64 - 16 - 16) << 20

// runCollectors runs collectors on what collectorFlags.target has returned, with
// the flags that all collectors share: tables for each interval, files for the
// whole run, the status of a started command.
func runCollectors(ctx context.Context, out *console, flags *collectorFlags, target perfevent.Target, command *perfevent.Command, collectors []table.Collector, notes []string) error {
	var metrics []profile.Metric
	for _, collector := range collectors {
		metrics = append(metrics, collector.Plan().Metrics...)
	}
	if err := report.CheckMetric(flags.metric, metrics); err != nil {
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
	printer := newPrinter(out, flags, collectors, notes)
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
		return nil // what reads our tables has seen enough (head(1)): that is no failure
	}
	if err != nil {
		return err
	}
	errs := []error{ignoreClosedPipe(printer.end(result.Accounts)), flags.write(out, result.Whole), ignoreClosedPipe(flags.trigger.said(out, result))}
	sayNotes(out.stderr, result.Notes)
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if hint := sleepHint(flags.Command); hint != "" {
		fmt.Fprintln(out.stderr, hint)
	}
	return launch.End(ctx, out.stderr, command)
}

// progress is how far a run is, for the line of a terminal.
type progress profiler.Progress

func (p progress) String() string {
	if p.Frames > 0 {
		return fmt.Sprintf("symbolizing %d of %d frames", p.Named, p.Frames)
	}
	return fmt.Sprintf("sampling %s: %d samples in this interval (Ctrl-C to end)", p.Elapsed.Round(time.Second), p.Samples)
}

// sleepHint is for who measures the whole host with a sleep, as one does with perf: "" for
// other commands.
func sleepHint(command []string) string {
	if len(command) != 2 || filepath.Base(command[0]) != "sleep" {
		return ""
	}
	return fmt.Sprintf("note: ringtap watched %s alone, which does nothing; -d %s watches the whole host for that long", escape.Text(command[0]), escape.Text(command[1]))
}

// sayNotes says what went wrong in a run: see run.Account.Notes.
func sayNotes(w io.Writer, notes []string) {
	for _, note := range notes {
		fmt.Fprintln(w, note)
	}
}

// write writes the profile of the whole run to every file asked for. A file
// that can't be written does not keep the others from being written.
func (c *collectorFlags) write(out *console, p *profile.Profile) error {
	if p == nil {
		return nil
	}
	p.Command = strings.Join(os.Args, " ")
	if host, err := os.Hostname(); err == nil {
		p.Host = host
	}
	var errs []error
	for _, path := range c.outputs {
		if err := report.WriteFile(path, p, report.FileOptions{Metric: c.metric, Inlines: c.inlines}); err != nil {
			errs = append(errs, err)
			continue
		}
		fmt.Fprintf(out.stderr, "wrote %s\n", path)
	}
	return errors.Join(errs...)
}
