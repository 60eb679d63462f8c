package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/escape"
	"github.com/ringtap/ringtap/internal/facility"
	"github.com/ringtap/ringtap/internal/report"
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
		_, err := fmt.Fprint(out.stdout, verdictText(facility.Verdicts(needs)))
		return err
	}
	heading, rows := []string{"command", "state", "missing", "what to do"}, verdictRows(needs)
	if verbose {
		heading, rows = []string{"need", "facility", "state"}, nil
		for i := range needs {
			rows = append(rows, needRows(&needs[i])...)
		}
	}
	return ignoreClosedPipe(report.WriteTable(out.stdout, heading, rows, report.TableOptions{Drawn: out.drawn, Width: out.width}))
}

// verdictRows are a line for each command.
func verdictRows(needs []facility.Need) [][]string {
	var rows [][]string
	for _, v := range facility.Verdicts(needs) {
		rows = append(rows, []string{v.Command, v.State.String(), cmp.Or(v.Why, "-"), cmp.Or(v.Do, "-")})
	}
	return rows
}

// verdictText is what a person reads of the verdicts.
func verdictText(verdicts []facility.Verdict) string {
	var text strings.Builder
	for _, v := range verdicts {
		fmt.Fprintf(&text, "%-11s %s\n", v.Command, v.State)
		if v.Why != "" {
			fmt.Fprintf(&text, "%-11s   %s\n%-11s   %s\n", "", escape.Text(v.Why), "", escape.Text(v.Do))
		}
	}
	text.WriteString("\n'ringtap check -v' shows the facilities behind this.\n")
	return text.String()
}

// needRows are the lines of one need: one for each choice, and one for what is
// done where none is there.
func needRows(need *facility.Need) [][]string {
	var rows [][]string
	used := need.Used()
	for i, choice := range need.Choices {
		state := "present"
		switch {
		case choice.Err == nil && need.Spare:
			state = "present, not needed"
		case i == used:
			state = "used"
		case choice.Err != nil:
			state = "missing: " + choice.Err.Error()
		}
		rows = append(rows, []string{need.What, choice.Facility, state})
	}
	if used == len(need.Choices) && !need.Spare {
		rows = append(rows, []string{need.What, "none", "instead: " + need.Otherwise})
	}
	return rows
}
