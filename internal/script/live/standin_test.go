package live

import (
	"testing"

	"github.com/ringtap/ringtap/internal/script/plan"
	"github.com/ringtap/ringtap/kprobe"
)

func TestAFunctionsOldAndNewNameAreProbedOnce(t *testing.T) {
	event := func(function string, clauses ...int) *plan.Event {
		e := &plan.Event{Place: plan.Kernel, Definition: "p:" + function}
		for _, clause := range clauses {
			e.Uses = append(e.Uses, plan.Use{Clause: clause})
		}
		return e
	}
	gone := &kprobe.SymbolError{Name: "swap_readpage", Today: []string{"swap_read_folio"}}
	for name, test := range map[string]struct {
		old, today *plan.Event
		once       bool
	}{
		"of one clause":                {event("swap_readpage", 1), event("swap_read_folio", 1), true},
		"of one clause among others":   {event("swap_readpage", 1), event("swap_read_folio", 0, 1, 2), true},
		"of another clause":            {event("swap_readpage", 1), event("swap_read_folio", 0), false},
		"of one of two clauses":        {event("swap_readpage", 0, 1), event("swap_read_folio", 0), false},
		"another function is probed":   {event("swap_readpage", 1), event("swap_writepage", 1), false},
		"its return is probed as well": {event("swap_readpage", 1), &plan.Event{Place: plan.Kernel, Definition: "r:swap_read_folio"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			other, note := standIn(test.old, gone)
			if other != "p:swap_read_folio" || note == "" {
				t.Fatalf("%q stands in, and the note is %q", other, note)
			}
			if got := isAmong(other, test.old, []*plan.Event{test.old, test.today}); got != test.once {
				t.Errorf("what stands in is among the events: %v", got)
			}
		})
	}
}
