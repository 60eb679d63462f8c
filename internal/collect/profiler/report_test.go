package profiler

import (
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/profile"
)

func TestWhatIsLostOfSeveralIsNoneOfTheFirst(t *testing.T) {
	for _, test := range []struct {
		name   string
		plans  []table.Plan
		others bool
		lost   uint64
		noted  bool
	}{
		{"one", make([]table.Plan, 1), false, 3, false},
		{"one, beside samples of other processes", make([]table.Plan, 1), true, 3, true},
		{"one, with records of switches", []table.Plan{{Switches: true}}, false, 3, true},
		{"two", make([]table.Plan, 2), false, 3, true},
		{"two, nothing lost", make([]table.Plan, 2), false, 0, false},
	} {
		p := &profile.Profile{Accounts: make([]profile.Account, len(test.plans))}
		p.Accounts[0].Lost = test.lost
		noteLosses(p, test.plans, test.others, true)
		if noted := len(p.Notes) == 1 && strings.HasPrefix(p.Notes[0], "records of this interval were lost"); noted != test.noted {
			t.Errorf("%s: notes %q", test.name, p.Notes)
		}
		if moved := p.Accounts[0].Lost != test.lost; moved != test.noted {
			t.Errorf("%s: %d lost of the first", test.name, p.Accounts[0].Lost)
		}
	}

	// A run with one report has the numbers in its account.
	p := &profile.Profile{Accounts: []profile.Account{{Lost: 3}}}
	if noteLosses(p, make([]table.Plan, 2), false, false); len(p.Notes) > 0 || p.Accounts[0].Lost != 0 {
		t.Errorf("one report: notes %q, %d lost", p.Notes, p.Accounts[0].Lost)
	}
}
