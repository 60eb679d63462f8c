package offcpu

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

// What is taken early where it is the next of all gives the window that Record gives,
// also to a collector whose records must come in order.
func TestWhatIsNextIsTakenEarly(t *testing.T) {
	records := []perfevent.Record{
		&perfevent.Fork{Header: perfevent.Header{PID: 1, TID: 1, Time: 1}, PID: 5, TID: 5, PPID: 1, PTID: 1},
		&perfevent.Switch{Header: perfevent.Header{PID: 5, TID: 5, Time: 2}},
		switchTo(5, 10, sleeps, 0, 1),
		&perfevent.Switch{Header: perfevent.Header{PID: 5, TID: 5, Time: 20}},
		switchTo(5, 30, preempted, 0, 2),
		&perfevent.Switch{Header: perfevent.Header{PID: 5, TID: 5, Time: 35}},
	}
	handled, early := offCPU(t, Options{Whole: true}, table.Options{Whole: true}), offCPU(t, Options{Whole: true}, table.Options{Whole: true})
	taken := 0
	for _, record := range records {
		tabletest.Handle(t, handled.recorder, record)
		if _, ok := record.(*perfevent.Sample); ok && early.recorder.MayPass(record, false) {
			t.Error("a sample that must come in order is taken before others")
		}
		if early.recorder.MayPass(record, true) && early.recorder.Early(record) {
			taken++
		} else {
			tabletest.Handle(t, early.recorder, record)
		}
	}
	if taken != len(records)-1 {
		t.Errorf("%d of %d records are taken early, want all but the birth", taken, len(records))
	}
	want, got := handled.recorder.Finish(100), early.recorder.Finish(100)
	if diff := cmp.Diff(want.Rows, got.Rows); diff != "" || values(got) != [4]uint64{10, 1, 5, 1} {
		t.Errorf("rows (-handled +early):\n%s", diff)
	}
	if diff := cmp.Diff(handled.recorder.Counts(), early.recorder.Counts()); diff != "" {
		t.Errorf("counts (-handled +early):\n%s", diff)
	}
}
