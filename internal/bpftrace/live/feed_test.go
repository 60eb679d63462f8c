package live

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/eval"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/engine/capture"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// hits is a Handler that keeps what two clauses see: the argument, and the stack.
type hits struct {
	args   []uint64
	probes map[string]int
	stacks map[uint64]int
	most   int // hits until the program is over; 0: any
	lost   int
	before uint64
	err    error
}

func (h *hits) Start(at uint64) bool { h.before = at; return true }

func (h *hits) Hit(clause int, hit *eval.Hit) bool {
	if hit.Time < h.before {
		h.err = fmt.Errorf("a hit at %d, before %d", hit.Time, h.before)
	}
	h.before = hit.Time
	switch clause {
	case 0:
		h.args = append(h.args, hit.Values.Value(0).N)
		h.probes[hit.Probe]++
	case 1:
		h.stacks[hit.Values.Value(0).N]++
	}
	return h.most == 0 || len(h.args) < h.most
}

func (h *hits) Lost() { h.lost++ }

func (*hits) Due() (uint64, bool) { return 0, false }

func (*hits) Tick() bool { return true }

// attached is an Attachment of the capture's probe with a clause that takes its argument and
// one that takes the user stack.
func attached(t *testing.T, recorded *capture.Source) *Attachment {
	t.Helper()
	event := &plan.Event{Place: plan.User, UserStack: true}
	point := &syntax.AttachPoint{Provider: "uprobe", Args: []string{"known", "work"}, Text: "uprobe:known:work"}
	event.Uses = []plan.Use{
		{Clause: 0, Point: point, Fields: []plan.Field{{From: plan.Record, Name: "arg1"}}},
		{Clause: 1, Point: point, Fields: []plan.Field{{From: plan.UserStack}}},
	}
	a := &Attachment{
		program: &check.Program{Clauses: []*check.Clause{
			{Sources: []*check.Source{{Root: check.ArgRoot, Type: types.Uint64}}},
			{Sources: []*check.Source{{Root: check.UStackRoot, Type: &types.Type{Kind: types.UStack}}}},
		}},
	}
	of := recorded.Sources(t)[0]
	s := &source{event: event, probe: &of, sample: of.Sampling(), stacks: stack.Stacks{User: true, Unwind: stack.Auto, Entry: true}, name: "work"}
	for _, u := range event.Uses {
		use, err := a.use(s, u)
		if err != nil {
			t.Fatal(err)
		}
		s.uses = append(s.uses, use)
	}
	a.sources, a.options.Logger = []*source{s}, slog.New(slog.DiscardHandler)
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// The program calls work 40 times, with 0 to 39, by one way.
func TestClausesSeeTheArgumentsAndStacksOfARecording(t *testing.T) {
	source := capture.Open(t, "lines")
	a := attached(t, source)
	h := &hits{probes: make(map[string]int), stacks: make(map[uint64]int)}
	account, err := a.feed(h).follow(context.Background(), source)
	if err != nil || h.err != nil {
		t.Fatal(err, h.err)
	}
	want := make([]uint64, 40)
	for i := range want {
		want[i] = uint64(i)
	}
	if !slices.Equal(h.args, want) || h.probes["uprobe:known:work"] != 40 {
		t.Errorf("the arguments are %d, of %v", h.args, h.probes)
	}
	if all := account.All(); all.Received != 40 || account.Own != 0 || account.Stacks != 0 {
		t.Errorf("the account is %+v", account)
	}
	for n, hits := range h.stacks {
		lines := a.Lines(n, "bpftrace")
		if hits != 40 || len(lines) != 4 || a.Frames(n) != 4 || !strings.HasPrefix(lines[0], "work+") || !strings.HasPrefix(lines[3], "_start+") {
			t.Errorf("%d hits at %q", hits, lines)
		}
	}
}

func TestAProgramThatIsOverSeesNoMore(t *testing.T) {
	source := capture.Open(t, "lines")
	h := &hits{probes: make(map[string]int), stacks: make(map[uint64]int), most: 7}
	if _, err := attached(t, source).feed(h).follow(context.Background(), source); err != nil || len(h.args) != 7 {
		t.Errorf("%v after %d hits, want 7", err, len(h.args))
	}
}

func TestOwnHitsAreCountedAndNotSeen(t *testing.T) {
	source := capture.Open(t, "lines")
	h := &hits{probes: make(map[string]int), stacks: make(map[uint64]int)}
	f := attached(t, source).feed(h)
	f.self = uint32(source.Processes()[0])
	if account, err := f.follow(context.Background(), source); err != nil || account.Own != 40 || len(h.args) > 0 {
		t.Errorf("%v, %d of our own, %d seen", err, account.Own, len(h.args))
	}
}

func TestAHandlerIsToldWhereRecordsAreMissing(t *testing.T) {
	h := &hits{}
	f := &feed{Attachment: &Attachment{}, handler: h}
	for _, record := range []perfevent.Record{&perfevent.Comm{}, &perfevent.Lost{Lost: 5}, &perfevent.Exit{}} {
		if err := f.Record(record); err != nil {
			t.Fatal(err)
		}
	}
	if h.lost != 1 {
		t.Errorf("told %d times", h.lost)
	}
}

// A program with -c or -p has an event that no clause uses, which ends it with its target.
func TestBooksLeaveOutTheEventThatOnlyWatchesTheTarget(t *testing.T) {
	f := &feed{Attachment: &Attachment{sources: []*source{
		{event: &plan.Event{}, uses: []use{{probe: "uprobe:libc:malloc"}}},
		{event: &plan.Event{}},
	}}}
	f.account.Account = engine.Account{Events: []perfevent.Account{{Received: 3}, {}}}
	books := f.books()
	if len(books) != 1 || books[0].Name != "uprobe:libc:malloc" || books[0].Received != 3 {
		t.Errorf("%+v", books)
	}
}
