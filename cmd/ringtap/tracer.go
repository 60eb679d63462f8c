package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/cli/launch"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/internal/trace"
	"github.com/ringtap/ringtap/perfevent"
)

// tracing is one run of a tracer: what it traces, and the words for its messages.
type tracing struct {
	name    string // what is traced, in messages: "uprobe readline"
	about   string // printed after name in parentheses; "" for nothing
	sources []probe.Source
	seen    func(perfevent.Record) // see trace.Options; nil for most
	urgent  bool                   // see trace.Options
	aside   []perfevent.Sampling   // see trace.Options
	helper  uint32                 // see trace.Options
	stacks  stack.Stacks
	target  perfevent.Target
	command *perfevent.Command // nil if none was started
}

// printEvents prints the events. It prints perf-tools' messages before and after them.
func printEvents(ctx context.Context, out *console, flags *tracerFlags, t tracing) error {
	fs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	header := ""
	if flags.headers {
		if header, err = fs.TraceHeader(); err != nil {
			return err
		}
	}
	removeStale()
	logger := out.logger(flags.verbose)
	ctx, cancel := out.endWithReader(ctx)
	defer cancel()
	out.recording.Store(true)
	lines := out.held(flags.duration > 0 && !flags.live)
	account, err := trace.Run(ctx, trace.Options{
		Target: t.target, Sources: t.sources, Seen: t.seen, Urgent: t.urgent, Aside: t.aside, Helper: t.helper, Stacks: t.stacks,
		Duration: time.Duration(flags.duration), Printing: trace.Printing(fs, logger),
		MaxRate: flags.maxRate, MaxHits: flags.maxHits, Out: lines, Stamp: flags.stamp(), Logger: logger,
		Armed: func() {
			flags.sayChildren(out)
			fmt.Fprint(out.stdout, t.greeting(flags), header)
		},
	})
	if err == nil {
		err = lines.Release()
	}
	if errors.Is(err, syscall.EPIPE) {
		return nil // the reader closed the pipe, as head(1) does: not a failure
	}
	if err != nil {
		return err
	}
	sayAccount(out.stderr, account)
	if _, err := fmt.Fprint(out.stdout, "\nEnding tracing...\n"); err != nil {
		return ignoreClosedPipe(err)
	}
	return launch.End(ctx, out.stderr, t.command)
}

// greeting returns the line that perf-tools prints before the first event.
func (t *tracing) greeting(flags *tracerFlags) string {
	name, about := escape.Text(t.name), ""
	switch {
	case flags.duration > 0 && flags.live:
		return fmt.Sprintf("Tracing %s for %s seconds...\n", name, flags.seconds())
	case flags.duration > 0:
		return fmt.Sprintf("Tracing %s for %s seconds (buffered)...\n", name, flags.seconds())
	}
	if t.about != "" {
		about = " (" + escape.Text(t.about) + ")"
	}
	return fmt.Sprintf("Tracing %s%s. Ctrl-C to end.\n", name, about)
}

// sayAccount prints how many events were lost or left out, and how many stacks were cut
// short.
func sayAccount(w io.Writer, a trace.Account) {
	if lost := a.All().Lost; lost > 0 {
		fmt.Fprintf(w, "lost %d of %d events, which came faster than ringtap could read them\n", lost, lost+a.Shown+a.Own+a.Filtered+a.Unread)
	}
	if a.Unread > 0 {
		fmt.Fprintf(w, "left out %d of %d hits, because ringtap could not read the text to compare\n", a.Unread, a.Unread+a.Filtered+a.Shown)
	}
	if a.Cut > 0 {
		fmt.Fprintf(w, "%d of %d user stacks are cut short: they are deeper than the %d KiB that ringtap copies\n", a.Cut, a.Shown, stack.LineCopy>>10)
	}
	sayNotes(w, a.Notes())
}
