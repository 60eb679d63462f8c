package livetest

import (
	"testing"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/testkit/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

// Recorder runs a collector without a kernel, on samples that a test makes up. Its
// windows last 100 ns.
type Recorder struct {
	t        *testing.T
	recorder *table.Recorder
	Windows  []*table.Window // the windows that have ended
}

// NewRecorder returns a Recorder for a host that has no processes.
func NewRecorder(t *testing.T, c table.Collector) *Recorder {
	t.Helper()
	processes := process.NewTable(process.Options{Host: process.Host{Proc: t.TempDir()}})
	t.Cleanup(processes.Close)
	r := &Recorder{t: t}
	r.recorder = table.NewRecorder([]table.Collector{c}, processes, 0, table.Options{Interval: 100, Memory: 1 << 20,
		Emit: func(w *table.Window) { r.Windows = append(r.Windows, w) }})
	return r
}

// Sample passes the collector a sample of one of its samplings. The sample is from process
// pid at a time (ns) and at a kernel address, place. fields become its raw record.
func (r *Recorder) Sample(sampling int, pid uint32, time, place uint64, fields ...uint64) {
	r.t.Helper()
	s := tabletest.Hit(pid, time, place)
	s.Sampling, s.Raw = sampling, tabletest.Raw(fields...)
	tabletest.Handle(r.t, r.recorder, s)
}

// Finish ends the run at time, and returns the last window.
func (r *Recorder) Finish(time uint64) *table.Window {
	r.recorder.Finish(time)
	return r.Windows[len(r.Windows)-1]
}

// Record passes the collector a record that is not a sample.
func (r *Recorder) Record(record perfevent.Record) {
	r.t.Helper()
	tabletest.Handle(r.t, r.recorder, record)
}
