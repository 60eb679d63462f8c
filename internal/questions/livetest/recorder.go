package livetest

import (
	"testing"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/internal/table/tabletest"
	"github.com/ringtap/ringtap/perfevent"
)

// Recorder runs a collector without a kernel: on samples that a test makes up, in
// windows of 100 ns.
type Recorder struct {
	t        *testing.T
	recorder *table.Recorder
	Windows  []*table.Window // those that have ended
}

// NewRecorder makes a Recorder of a host that has no processes.
func NewRecorder(t *testing.T, c table.Collector) *Recorder {
	t.Helper()
	processes := process.NewTable(process.Options{Host: process.Host{Proc: t.TempDir()}})
	t.Cleanup(processes.Close)
	r := &Recorder{t: t}
	r.recorder = table.NewRecorder([]table.Collector{c}, processes, 0, table.Options{Interval: 100, Memory: 1 << 20,
		Emit: func(w *table.Window) { r.Windows = append(r.Windows, w) }})
	return r
}

// Sample hands over a sample of one of the collector's samplings: a process's at a time,
// in a place of the kernel, with fields as tabletest.Raw makes them.
func (r *Recorder) Sample(sampling int, pid uint32, at, place uint64, fields ...uint64) {
	r.t.Helper()
	s := tabletest.Hit(pid, at, place)
	s.Sampling, s.Raw = sampling, tabletest.Raw(fields...)
	tabletest.Handle(r.t, r.recorder, s)
}

// Finish ends the run at a time, and returns the last window.
func (r *Recorder) Finish(at uint64) *table.Window {
	r.recorder.Finish(at)
	return r.Windows[len(r.Windows)-1]
}

// Record hands over a record that is no sample.
func (r *Recorder) Record(record perfevent.Record) {
	r.t.Helper()
	tabletest.Handle(r.t, r.recorder, record)
}
