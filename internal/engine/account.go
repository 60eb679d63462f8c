package engine

import (
	"fmt"

	"github.com/ringtap/ringtap/perfevent"
)

// Account says what happened to the records of a run.
type Account struct {
	Events []perfevent.Account // one per sampling
	Stats  perfevent.Stats     // about reading the rings
}

// Sum adds up the accounts of n samplings, starting with index first.
func (a *Account) Sum(first, n int) perfevent.Account {
	sum := perfevent.Account{Exact: true}
	for _, e := range a.Events[first : first+n] {
		sum.Received += e.Received
		sum.Weight += e.Weight
		sum.Duplicates += e.Duplicates
		sum.Filtered += e.Filtered
		sum.Rejected += e.Rejected
		sum.Lost += e.Lost
		sum.InKernel += e.InKernel
		sum.Overwritten += e.Overwritten
		sum.Throttled += e.Throttled
		sum.Counted += e.Counted
		sum.Enabled += e.Enabled
		sum.Running += e.Running
		sum.Exact = sum.Exact && e.Exact
	}
	return sum
}

// All adds up the accounts of all samplings.
func (a *Account) All() perfevent.Account { return a.Sum(0, len(a.Events)) }

// Notes returns sentences about faults that the reader of the results must know. Lost samples are
// not among them: they are in the accounts of their events.
func (a *Account) Notes() []string {
	var notes []string
	note := func(n uint64, one, many string) {
		switch {
		case n == 1:
			notes = append(notes, "1 "+one)
		case n > 1:
			notes = append(notes, fmt.Sprintf("%d %s", n, many))
		}
	}
	note(a.Stats.SideBandLost, "record about a process was lost: a name or a mapping may be out of date",
		"records about processes were lost: names and mappings may be out of date")
	note(a.Stats.OrderBreaks, "record came later than one of a later time: what pairs records may be wrong about it",
		"records came later than ones of later times: what pairs records may be wrong about them")
	note(a.Stats.Malformed, "record could not be decoded and is missing", "records could not be decoded and are missing")
	note(a.Stats.Unknown, "record has a type that this ringtap does not know and is missing",
		"records have types that this ringtap does not know and are missing")
	return notes
}
