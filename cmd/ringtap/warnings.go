package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/text/escape"
)

// warnings is a slog.Handler for people: it prints warnings and errors as sentences, such as
// "warning: CPU is offline and not watched (cpu 3)", and drops everything else.
type warnings struct {
	out   io.Writer
	attrs []slog.Attr
}

// Enabled reports whether records of a level are printed.
func (w *warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle prints a record. An attribute called error follows the message; the others are in
// parentheses.
func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	var details []string
	cause := ""
	add := func(a slog.Attr) bool {
		if a.Key == "error" {
			cause = ": " + a.Value.String()
		} else {
			details = append(details, a.Key+" "+a.Value.String())
		}
		return true
	}
	for _, a := range w.attrs {
		add(a)
	}
	r.Attrs(add)
	text := "warning: " + r.Message
	if details != nil {
		text += " (" + strings.Join(details, ", ") + ")"
	}
	// errors.Join puts each error on a line.
	lines := strings.Split(text+cause, "\n")
	for i := range lines {
		lines[i] = escape.Text(lines[i])
	}
	_, err := fmt.Fprintln(w.out, strings.Join(lines, "\n  "))
	return err
}

// WithAttrs returns a handler that adds attrs to each record.
func (w *warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &warnings{out: w.out, attrs: slices.Concat(w.attrs, attrs)}
}

// WithGroup returns w: groups do not show.
func (w *warnings) WithGroup(string) slog.Handler { return w }
