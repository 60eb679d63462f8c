package main

import (
	"context"

	"github.com/ringtap/ringtap/internal/facility"
	"github.com/ringtap/ringtap/internal/report"
)

const checkUsage = `check

Lists what ringtap needs of a kernel, what this one has of it, with your
privileges, and what is used instead of what it has not.
`

func check(_ context.Context, out *console, args []string) error {
	flags := newFlags(out, "check", checkUsage)
	if err := parse(flags, args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return usagef("check takes no arguments")
	}
	var rows [][]string
	for _, need := range facility.Needs() {
		rows = append(rows, needRows(&need)...)
	}
	return ignoreClosedPipe(report.WriteTable(out.stdout, []string{"need", "facility", "state"}, rows,
		report.TableOptions{Drawn: out.drawn, Width: out.width}))
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
