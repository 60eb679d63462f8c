package livetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/collect/profiler"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/engine/capture"
	"github.com/ringtap/ringtap/internal/profile"
)

// Replay runs a collector on a capture, without a kernel. It returns a profile for each
// interval, or one profile if interval is 0, and the result of the whole run.
func Replay(t *testing.T, source *capture.Source, collector table.Collector, interval time.Duration) ([]*profile.Profile, *profiler.Result) {
	t.Helper()
	var intervals []*profile.Profile
	result, err := profiler.Run(context.Background(), profiler.Options{
		Source: source, Collectors: []table.Collector{collector}, Interval: interval, Whole: true, Memory: 64 << 20, DebugFiles: NoDebugFiles,
		Report: func(p *profile.Profile) error { intervals = append(intervals, p); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return intervals, result
}

// ByStack adds up the rows by user stack, root first: "begin;busy;spin". Rows without a
// user stack have the key "".
func ByStack(p *profile.Profile) map[string][]uint64 {
	sums := make(map[string][]uint64)
	for _, row := range p.Rows {
		var names []string
		if row.User != profile.None {
			for _, f := range p.Stacks[row.User].Frames {
				names = append(names, p.Frames[f].Name)
			}
		}
		key := strings.Join(names, ";")
		if sums[key] == nil {
			sums[key] = make([]uint64, len(row.Values))
		}
		for i, v := range row.Values {
			sums[key][i] += v
		}
	}
	return sums
}
