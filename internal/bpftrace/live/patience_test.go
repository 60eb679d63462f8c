package live

import (
	"context"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/engine/capture"
	"github.com/ringtap/ringtap/perfevent"
)

func TestHitsThatWaitAreHandledForAWhile(t *testing.T) {
	for _, tt := range []struct {
		name    string
		since   time.Duration
		handled int
		want    bool
	}{
		{"many in a short time", Patience, 100 * assured, false},
		{"the first ones, however slow", longest, assured, false},
		{"more than are assured", Patience + 1, assured + 1, true},
		{"slow hits", longest + 1, 1, true},
	} {
		if got := isLeftOut(tt.since, tt.handled); got != tt.want {
			t.Errorf("%s: left out %t, want %t", tt.name, got, tt.want)
		}
	}
}

// lingering is a recording whose hits wait until the run has ended and Patience is over.
type lingering struct {
	*capture.Source
	feed *feed
}

func (l *lingering) Read(_ context.Context, by perfevent.Reader, handle func(perfevent.Record) error) error {
	l.feed.engine.End()
	for since := time.Duration(0); since <= Patience; since, _ = l.feed.engine.Ending() {
		time.Sleep(time.Millisecond)
	}
	return l.Source.Read(context.Background(), by, handle)
}

func TestHitsThatWaitTooLongAfterTheEndAreCountedAndNotSeen(t *testing.T) {
	source := capture.Open(t, "lines")
	h := &hits{probes: make(map[string]int), stacks: make(map[uint64]int)}
	f := attached(t, source).feed(h)
	f.waiting = assured - 30
	account, err := f.follow(t.Context(), &lingering{source, f})
	if err != nil || account.Unseen != 10 || len(h.args) != 30 {
		t.Errorf("%v, %d unseen, %d seen", err, account.Unseen, len(h.args))
	}
}
