package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ringtap/ringtap/ftrace"
)

const resetUsage = `reset

Remove what killed ringtaps have left in the kernel's tracefs (events, trace instances),
restore the settings that they changed, and print what was done. What belongs to running
ringtaps or other programs stays as it is.

  ringtap reset                            remove what is left
  ringtap on-cpu -d 1; ringtap reset       nothing is left by a run that ended
  ringtap funcgraph -d 1 vfs_read          a tracer resets by itself before it begins

Every command that traces does this before it begins.
`

// resetPatience is how long reset retries what another process keeps busy.
const resetPatience = time.Second

func reset(_ context.Context, out *console, args []string) error {
	flags := newFlags(out, "reset", resetUsage)
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return usagef("unexpected argument %q", flags.Arg(0))
	}
	fs, err := ftrace.Find()
	if errors.Is(err, ftrace.ErrNotMounted) {
		_, err = fmt.Fprintln(out.stdout, "nothing is left: tracefs is not mounted")
		return ignoreClosedPipe(err)
	}
	if err != nil {
		return err
	}
	removed, err := fs.RemoveStale(resetPatience)
	var text strings.Builder
	for _, name := range removed {
		if setting, value, ok := strings.Cut(name, "="); ok {
			fmt.Fprintf(&text, "put back %s: %q\n", setting, value)
			continue
		}
		fmt.Fprintf(&text, "removed %s\n", name)
	}
	if len(removed) == 0 && err == nil {
		text.WriteString("nothing was left\n")
	}
	if _, writeErr := fmt.Fprint(out.stdout, text.String()); writeErr != nil && err == nil {
		err = ignoreClosedPipe(writeErr)
	}
	return err
}

// removeStale removes what killed ringtaps left in tracefs, and ignores what it can't remove. Package
// ftrace does the same when it creates an event group or a trace instance, but a run that uses only
// tracepoints creates neither.
func removeStale() {
	if fs, err := ftrace.Find(); err == nil {
		_, _ = fs.RemoveStale(0)
	}
}
