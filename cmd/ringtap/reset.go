package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
)

const resetUsage = `reset

Removes what ringtaps that were killed have left in the kernel's tracefs (events,
trace instances), puts settings back that they had changed, and says what it did.
What belongs to living ringtaps or to other programs stays as it is.

Every ringtap that traces through tracefs does the same before it begins.
`

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
		_, err = fmt.Fprintln(out.stdout, "nothing was left: tracefs is not mounted")
		return ignoreClosedPipe(err)
	}
	if err != nil {
		return err
	}
	removed, err := fs.RemoveStale()
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
