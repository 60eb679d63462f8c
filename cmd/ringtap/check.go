package main

import (
	"context"
	"fmt"

	"github.com/ringtap/ringtap/internal/cli/facility"
	"github.com/ringtap/ringtap/internal/output"
)

const checkUsage = `check [options]

Show which commands work on this kernel with your privileges, which do not, and what to do
about it.

  ringtap check              the commands
  sudo ringtap check         what root can do
  ringtap check -v           every facility that ringtap uses, and what replaces it
`

func check(_ context.Context, out *console, args []string) error {
	flags := newFlags(out, "check", checkUsage)
	var verbose bool
	addVerbose(flags, &verbose, "v")
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return usagef("check takes no arguments")
	}
	needs := facility.Needs()
	if out.drawn && !verbose {
		_, err := fmt.Fprint(out.stdout, facility.Text(facility.Verdicts(needs)))
		return err
	}
	rows := facility.VerdictRows(facility.Verdicts(needs))
	if verbose {
		rows = facility.NeedRows(needs)
	}
	return ignoreClosedPipe(output.WriteTable(out.stdout, rows[0], rows[1:], output.TableOptions{Drawn: out.drawn, Width: out.width}))
}
