package perfevent

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// cacheCounters is what a real machine's counters of the last-level cache left in
// perf's ring, and what perf reads in it: a line for each sample of cache-references
// and cache-misses in perf.data.systemwide.0-3.4, a recording of
// google/perf_data_converter's tests. First come the record's words in hexadecimal;
// after a tab, as perf script prints them, event, pid, tid, cpu, time in
// nanoseconds, period and ip.
//
//go:embed testdata/cache-counters.txt
var cacheCounters string

// The counters ran in frequency mode, so that each sample has a period of its own.
func TestSamplesOfRealCacheCountersAreReadAsPerfReadsThem(t *testing.T) {
	d := testDecoder(unix.PERF_SAMPLE_PERIOD)
	d.layouts = append(d.layouts, newLayout(1, 0, fixedSample|unix.PERF_SAMPLE_PERIOD, 0, 0))
	lines := strings.Split(strings.TrimSuffix(cacheCounters, "\n"), "\n")
	events := map[string]int32{"cache-references": 0, "cache-misses": 1}
	var ids []uint64
	var infos []eventInfo
	for _, line := range lines {
		words, perfs, _ := strings.Cut(line, "\t")
		name, _, _ := strings.Cut(perfs, " ")
		ids = append(ids, recordedSample(t, words)[1])
		infos = append(infos, eventInfo{sampling: events[name]})
	}
	d.events = newEventTable(ids, infos)
	for _, line := range lines {
		words, perfs, _ := strings.Cut(line, "\t")
		var raw []byte
		for _, word := range recordedSample(t, words) {
			raw = binary.LittleEndian.AppendUint64(raw, word)
		}
		record, err := d.Decode(raw)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		s := record.(*Sample)
		name := "cache-references"
		if s.Sampling == 1 {
			name = "cache-misses"
		}
		if got := fmt.Sprintf("%s %d %d %d %d %d %x", name, s.PID, s.TID, s.CPU, s.Time, s.Period, s.IP); got != perfs {
			t.Errorf("read as %q, by perf as %q", got, perfs)
		}
	}
}

// recordedSample is the words of a sample that perf recorded. Its id, the fifth, goes
// where a Session's samples have it: PERF_SAMPLE_IDENTIFIER instead of PERF_SAMPLE_ID.
func recordedSample(t *testing.T, text string) []uint64 {
	t.Helper()
	var w [7]uint64
	for i, field := range strings.Fields(text) {
		if _, err := fmt.Sscanf(field, "%x", &w[i]); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
	}
	return []uint64{w[0], w[4], w[1], w[2], w[3], w[5], w[6]}
}
