package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// recorded is a source of records at times, of pid 7; a name is that of a Comm record.
type recorded struct {
	dir     string
	records []perfevent.Record
	rounds  []uint64 // round before the record of that index
	early   bool     // offers all records to BeforeSpool
}

func (s *recorded) Host() process.Host               { return process.Host{Proc: s.dir} }
func (s *recorded) Processes() []int                 { return nil }
func (s *recorded) Now() uint64                      { return 0 }
func (s *recorded) Enable() error                    { return nil }
func (s *recorded) Account() (engine.Account, error) { return engine.Account{}, nil }

func (s *recorded) Read(ctx context.Context, by perfevent.Reader, handle func(perfevent.Record) error) error {
	for i, record := range s.records {
		if ctx.Err() != nil {
			return nil
		}
		if i < len(s.rounds) && s.rounds[i] > 0 {
			by.Round(s.rounds[i])
		}
		if s.early && by.BeforeSpool != nil && by.BeforeSpool(record, true) {
			continue
		}
		if err := handle(record); err != nil {
			return err
		}
	}
	return nil
}

func sample(at uint64) perfevent.Record {
	return &perfevent.Sample{Header: perfevent.Header{PID: 7, TID: 7, Time: at}}
}

func comm(at uint64, name string) perfevent.Record {
	return &perfevent.Comm{Header: perfevent.Header{PID: 7, TID: 7, Time: at}, PID: 7, TID: 7, Exec: true, Name: []byte(name)}
}

// happened is what a sink was told.
type happened struct {
	What string
	At   uint64
	Comm string // of process 7 then
}

// noting is a sink that wants a tick every 100.
type noting struct {
	processes *process.Table
	all       []happened
	due       uint64
	fails     error // of Record and Round
}

func (n *noting) note(what string, at uint64) {
	n.all = append(n.all, happened{what, at, n.processes.Process(7).Comm})
}

func (n *noting) Record(record perfevent.Record) error {
	if _, ok := record.(*perfevent.Sample); ok {
		n.note("sample", record.Common().Time)
	}
	return n.fails
}

func (n *noting) Due() (uint64, bool) { return n.due, n.due > 0 }

func (n *noting) Tick() {
	n.note("tick", n.due)
	n.due += 100
}

// hurried is one that takes samples early.
type hurried struct{ noting }

func (h *hurried) MayPass(record perfevent.Record, _ bool) bool {
	_, ok := record.(*perfevent.Sample)
	return ok
}

func (h *hurried) Early(record perfevent.Record) bool {
	h.note("early", record.Common().Time)
	return true
}

// failing is one whose rounds fail.
type failing struct{ noting }

func (f *failing) Round(uint64) error { return f.fails }

func newEngine(t *testing.T, source *recorded, opts engine.Options) *engine.Engine {
	t.Helper()
	source.dir = t.TempDir()
	e, err := engine.Start(t.Context(), source, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// A window ends at its time: with what was known of processes then, before the records of
// later times.
func TestTicksComeBetweenTheRecordsOfEarlierAndOfLaterTimes(t *testing.T) {
	source := &recorded{
		records: []perfevent.Record{comm(5, "old"), sample(10), comm(110, "new"), sample(120), sample(200), sample(350)},
		rounds:  []uint64{0, 0, 0, 0, 0, 320},
	}
	e := newEngine(t, source, engine.Options{})
	sink := &noting{processes: e.Processes(), due: 100}
	if err := e.Run(sink); err != nil {
		t.Fatal(err)
	}
	want := []happened{
		{"sample", 10, "old"}, {"tick", 100, "old"}, {"sample", 120, "new"},
		{"tick", 200, "new"}, {"sample", 200, "new"}, {"tick", 300, "new"}, {"sample", 350, "new"},
	}
	if diff := cmp.Diff(want, sink.all); diff != "" {
		t.Errorf("the sink was told (-want +got):\n%s", diff)
	}
}

func TestNothingIsTakenEarlyPastATickThatIsDue(t *testing.T) {
	source := &recorded{early: true, records: []perfevent.Record{comm(5, "old"), sample(10), comm(90, "new"), sample(110), sample(120)}}
	e := newEngine(t, source, engine.Options{})
	sink := &hurried{noting{processes: e.Processes(), due: 100}}
	if err := e.Run(sink); err != nil {
		t.Fatal(err)
	}
	want := []happened{{"early", 10, "old"}, {"tick", 100, "new"}, {"sample", 110, "new"}, {"early", 120, "new"}}
	if diff := cmp.Diff(want, sink.all); diff != "" {
		t.Errorf("the sink was told (-want +got):\n%s", diff)
	}
}

func TestWhatIsReplayedIsOfItsTime(t *testing.T) {
	source := &recorded{records: []perfevent.Record{comm(5, "old"), comm(50, "new"), sample(60)}}
	e := newEngine(t, source, engine.Options{Keep: 1e9})
	sink := &noting{processes: e.Processes()}
	if err := e.Run(sink); err != nil {
		t.Fatal(err)
	}
	if err := e.Replay(sample(20)); err != nil {
		t.Fatal(err)
	}
	want := []happened{{"sample", 60, "new"}, {"sample", 20, "old"}}
	if diff := cmp.Diff(want, sink.all); diff != "" {
		t.Errorf("the sink was told (-want +got):\n%s", diff)
	}
}

func TestASinkThatFailsEndsTheRun(t *testing.T) {
	errFull := errors.New("full")
	for _, rounds := range []bool{false, true} {
		source := &recorded{records: []perfevent.Record{sample(1), sample(2), sample(3)}}
		e := newEngine(t, source, engine.Options{})
		var sink engine.Sink = &noting{processes: e.Processes(), fails: errFull}
		if rounds {
			source.rounds = []uint64{1}
			sink = &failing{noting{processes: e.Processes(), fails: errFull}}
		}
		if err := e.Run(sink); !errors.Is(err, errFull) {
			t.Errorf("with rounds %t: %v", rounds, err)
		}
	}
}

func TestATableOfTheCallersIsUsedAndStays(t *testing.T) {
	processes := process.NewTable(process.Options{Host: process.Host{Proc: t.TempDir()}})
	defer processes.Close()
	e := newEngine(t, &recorded{}, engine.Options{Processes: processes})
	if e.Processes() != processes {
		t.Error("the table is another one")
	}
	if none := newEngine(t, &recorded{}, engine.Options{NoProcesses: true}); none.Processes() != nil {
		t.Error("there is a table")
	}
}

func TestAProcThatCantBeReadIsAnError(t *testing.T) {
	source := &recorded{dir: filepath.Join(t.TempDir(), "missing")}
	if _, err := engine.Start(t.Context(), source, engine.Options{}); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "read the running processes") {
		t.Errorf("the error is %v", err)
	}
}

func TestTheAccountSaysWhatWentWrong(t *testing.T) {
	a := engine.Account{Events: []perfevent.Account{{Received: 5, Lost: 2, Counted: 7, Exact: true}, {Received: 1, Counted: 9}}}
	if sum := a.All(); sum.Received != 6 || sum.Lost != 2 || sum.Counted != 16 || sum.Exact {
		t.Errorf("the sum is %+v", sum)
	}
	if sum := a.Sum(0, 1); sum.Received != 5 || !sum.Exact {
		t.Errorf("the sum of the first is %+v", sum)
	}
	if notes := a.Notes(); notes != nil {
		t.Errorf("losses of samples are in the events' accounts: %q", notes)
	}
	a.Stats = perfevent.Stats{SideBandLost: 1, OrderBreaks: 2, Malformed: 3, Unknown: 1}
	var got []string
	for _, note := range a.Notes() {
		got = append(got, strings.Join(strings.Fields(note)[:4], " "))
	}
	want := []string{"1 record about a", "2 records came later", "3 records could not", "1 record has a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the notes (-want +got):\n%s", diff)
	}
}

// counting is a sink that does next to nothing.
type counting struct{ samples int }

func (c *counting) Record(perfevent.Record) error { c.samples++; return nil }
func (c *counting) Due() (uint64, bool)           { return 1 << 62, true }
func (c *counting) Tick()                         {}

// What the engine adds to each record.
func BenchmarkASample(b *testing.B) {
	source := &recorded{dir: b.TempDir()}
	e, err := engine.Start(b.Context(), source, engine.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	sink := &counting{}
	if err := e.Run(sink); err != nil {
		b.Fatal(err)
	}
	record := sample(1)
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Handle(record); err != nil {
			b.Fatal(err)
		}
	}
}
