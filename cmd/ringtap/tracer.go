package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/follow"
	"github.com/ringtap/ringtap/internal/launch"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// tracing is one run of a tracer: what it follows and what it says of it.
type tracing struct {
	name    string // of what is traced, for messages: "uprobe readline"
	about   string // what stands behind it in parentheses; "" for nothing
	sources []probe.Source
	seen    func(perfevent.Record) // see follow.Options; nil for most
	urgent  bool                   // see follow.Options
	aside   []perfevent.Sampling   // see follow.Options
	helper  uint32                 // see follow.Options
	stacks  stack.Stacks
	target  perfevent.Target
	command *perfevent.Command // nil if none was started
}

// trace follows the events with perf-tools' messages around them.
func trace(ctx context.Context, out *console, flags *tracerFlags, t tracing) error {
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
	account, err := follow.Run(ctx, follow.Options{
		Target: t.target, Sources: t.sources, Seen: t.seen, Urgent: t.urgent, Aside: t.aside, Helper: t.helper, Stacks: t.stacks,
		Duration: time.Duration(flags.duration), Printing: follow.Printing(fs, logger),
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
		return nil // what reads our lines has seen enough (head(1)): that is no failure
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

// greeting is perf-tools' line before the first event.
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

// sayAccount says what a reader of the lines must know of those that are not
// there.
func sayAccount(w io.Writer, a follow.Account) {
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
