package main

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/ringtap/ringtap/internal/profiler"
)

// status is the line on a terminal that shows how far a run is. It is drawn
// over and over in the same place, and only where standard error is a terminal.
type status struct {
	mu    sync.Mutex
	w     io.Writer
	last  time.Time
	shown bool
}

// statusEvery is how often the line is drawn.
const statusEvery = 500 * time.Millisecond

func newStatus(out *console) *status {
	if !out.live {
		return &status{}
	}
	return &status{w: out.stderr, last: time.Now()}
}

// show draws the line, if it is time.
func (s *status) show(p profiler.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.w == nil || time.Since(s.last) < statusEvery {
		return
	}
	s.last, s.shown = time.Now(), true
	if p.Frames > 0 {
		fmt.Fprintf(s.w, "\r\x1b[Ksymbolizing %d of %d frames", p.Named, p.Frames)
		return
	}
	fmt.Fprintf(s.w, "\r\x1b[Ksampling %s: %d samples in this interval (Ctrl-C ends)", p.Elapsed.Round(time.Second), p.Samples)
}

// clear takes the line away.
func (s *status) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown {
		fmt.Fprint(s.w, "\r\x1b[K")
		s.shown = false
	}
}

// logger writes what is done and why to standard error: with -v everything,
// else only what a user must know.
func (c *console) logger(verbose bool) *slog.Logger {
	level := slog.LevelWarn
	if verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(c.stderr, &slog.HandlerOptions{Level: level, ReplaceAttr: withoutTime}))
}

// withoutTime leaves the time out of log lines: a person reads them as they
// come.
func withoutTime(groups []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey && len(groups) == 0 {
		return slog.Attr{}
	}
	return a
}
