package facility

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/escape"
)

// VerdictRows are a table's heading and a row for each command.
func VerdictRows(verdicts []Verdict) [][]string {
	rows := [][]string{{"command", "state", "missing", "what to do"}}
	for _, v := range verdicts {
		rows = append(rows, []string{v.Command, v.State.String(), cmp.Or(v.Why, "-"), cmp.Or(v.Do, "-")})
	}
	return rows
}

// Text is what a person reads of the verdicts.
func Text(verdicts []Verdict) string {
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

// NeedRows are a table's heading and, for each need, a row for each choice, and one for
// what is done where none is there.
func NeedRows(needs []Need) [][]string {
	rows := [][]string{{"need", "facility", "state"}}
	for i := range needs {
		need := &needs[i]
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
	}
	return rows
}
