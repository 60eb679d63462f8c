package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/cli/manual"
	"github.com/ringtap/ringtap/internal/cli/streams"
)

// console is where a command writes: results to stdout, everything else to
// stderr. A terminal gets colors, drawn tables and a progress line.
type console struct {
	stdout, stderr io.Writer
	called         string // the command as the command line spells it: "on_cpu"
	drawn          bool   // stdout is a terminal
	live           bool   // stderr is a terminal
	width, height  int    // columns and lines of stdout's terminal; 0 if stdout is no terminal

	// page, if not nil, receives a command's page instead of --help printing it.
	page func(*manual.Page, *pflag.FlagSet)

	file *os.File // the file of stdout; nil if stdout is not a file

	recording atomic.Bool // there is something to report; see handleSignals
	exit      sync.Mutex  // held by the goroutine that ends the process, and never released
}

func newConsole(stdout, stderr *os.File) *console {
	width, height, drawn := streams.Size(stdout)
	_, _, live := streams.Size(stderr)
	return &console{stdout: stdout, stderr: stderr, drawn: drawn, live: live, width: width, height: height, file: stdout}
}

// colors reports whether standard output may have colors: when is auto, always or never.
func (c *console) colors(when string) bool {
	if when != "auto" {
		return when == "always"
	}
	return c.drawn && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// held returns the writer for a tracer's lines. If back is true, it holds the lines back until
// the end, as perf-tools does with -d.
func (c *console) held(back bool) *streams.Held {
	lines := &streams.Held{To: c.stdout}
	if back {
		lines.Limit = streams.MaxHeld
	}
	return lines
}

// note prints a note about what ringtap understood differently or cannot see. On a terminal it
// breaks lines between words.
func (c *console) note(text string) { writeNotes(c.stderr, []string{text}, c.noteWidth()) }

// noteWidth returns the width of notes in columns, or 0, which breaks no line, if standard error is
// not a terminal.
func (c *console) noteWidth() int {
	if !c.live {
		return 0
	}
	return cmp.Or(c.width, pipeWidth)
}

// logger returns a logger that writes to standard error: with -v everything, else only warnings,
// as sentences.
func (c *console) logger(verbose bool) *slog.Logger {
	if !verbose {
		return slog.New(&warnings{out: c.stderr})
	}
	return slog.New(slog.NewTextHandler(c.stderr, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: withoutTime}))
}

// withoutTime leaves the time out of log lines: a person reads them as they
// come.
func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 {
		return slog.Attr{}
	}
	return a
}

// endWithReader returns a context that is canceled when nobody reads standard output any more.
func (c *console) endWithReader(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if c.file != nil {
		go streams.EndWithReader(ctx, cancel, c.file)
	}
	return ctx, cancel
}

// ignoreClosedPipe drops the error of a write to a closed pipe. A reader that closes
// it, such as head(1), has seen enough: that is not a failure.
func ignoreClosedPipe(err error) error {
	if errors.Is(err, unix.EPIPE) {
		return nil
	}
	return err
}
