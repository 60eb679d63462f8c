package facility

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/text/escape"
)

// VerdictRows returns a table: its heading, and a row for each command.
func VerdictRows(verdicts []Verdict) [][]string {
	rows := [][]string{{"command", "state", "missing", "what to do"}}
	for _, v := range verdicts {
		rows = append(rows, []string{v.command, v.state.String(), cmp.Or(v.why, "-"), cmp.Or(v.do, "-")})
	}
	return rows
}

// Text returns the verdicts in the form for a terminal.
func Text(verdicts []Verdict) string {
	var text strings.Builder
	for _, v := range verdicts {
		fmt.Fprintf(&text, "%-11s %s\n", v.command, v.state)
		if v.why != "" {
			fmt.Fprintf(&text, "%-11s   %s\n%-11s   %s\n", "", escape.Text(v.why), "", escape.Text(v.do))
		}
	}
	text.WriteString("\n'ringtap check -v' shows the facilities behind this.\n")
	return text.String()
}

// NeedRows returns a table: its heading, and for each need a row for each choice. If no choice
// is present, one more row says what ringtap does instead.
func NeedRows(needs []Need) [][]string {
	rows := [][]string{{"need", "facility", "state"}}
	for i := range needs {
		need := &needs[i]
		used := need.used()
		for i, choice := range need.choices {
			state := "present"
			switch {
			case choice.err == nil && need.spare:
				state = "present, not needed"
			case i == used:
				state = "used"
			case choice.err != nil:
				state = "missing: " + choice.err.Error()
			}
			rows = append(rows, []string{need.what, choice.facility, state})
		}
		if used == len(need.choices) && !need.spare {
			rows = append(rows, []string{need.what, "none", "instead: " + need.otherwise})
		}
	}
	return rows
}
