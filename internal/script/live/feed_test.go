package live

import (
	"testing"

	"github.com/ringtap/ringtap/internal/run"
	"github.com/ringtap/ringtap/internal/script/plan"
	"github.com/ringtap/ringtap/perfevent"
)

// A program with -c or -p has an event that no clause uses, which ends it with its target.
func TestBooksLeaveOutTheEventThatOnlyWatchesTheTarget(t *testing.T) {
	f := &feed{Attachment: &Attachment{sources: []*source{
		{event: &plan.Event{}, uses: []use{{probe: "uprobe:libc:malloc"}}},
		{event: &plan.Event{}},
	}}}
	f.account.Account = run.Account{Events: []perfevent.Account{{Received: 3}, {}}}
	books := f.books()
	if len(books) != 1 || books[0].Name != "uprobe:libc:malloc" || books[0].Received != 3 {
		t.Errorf("%+v", books)
	}
}
