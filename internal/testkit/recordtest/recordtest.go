// Package recordtest writes recordings of records that a test makes.
package recordtest

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/perfevent"
)

// SoftwareEvent returns a software event, such as PERF_COUNT_SW_CPU_CLOCK, whose records have the id.
// more are PERF_SAMPLE_* that its samples have, in addition to id, address, thread and time.
func SoftwareEvent(name string, config, id, more uint64) perfdata.Event {
	attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: config, Size: unix.PERF_ATTR_SIZE_VER5, Sample: 1,
		Sample_type: unix.PERF_SAMPLE_IDENTIFIER | unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | more,
		Bits:        unix.PerfBitSampleIDAll | unix.PerfBitMmap | unix.PerfBitComm}
	return perfdata.Event{EventAttr: perfevent.EventAttr{Attr: attr, IDs: []uint64{id}}, Name: name}
}

// Write writes a recording into a directory of the test, and returns its path.
func Write(t *testing.T, events []perfdata.Event, info perfdata.Info, last perfdata.Sections, records ...perfevent.Record) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "perf.data")
	w, err := perfdata.Create(path, events, perfdata.WriteOptions{Info: info})
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := perfdata.NewEncoder(events)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		raw, err := encoder.Append(nil, r)
		if err == nil {
			err = w.Record(raw)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(last); err != nil {
		t.Fatal(err)
	}
	return path
}
