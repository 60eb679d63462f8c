package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
)

// lost measures how many of the calls of malloc at full speed each tool does not
// have in the end. The calls are ten times those of the other measurements.
func (b *bench) lost(ctx context.Context) (rows []row, err error) {
	calls := 10 * b.hits
	what := fmt.Sprintf("lost of %d hits", calls)
	own := row{what: what, unit: "events", most: 0}
	perf := row{what: what + ": perf record -g", unit: "events", most: -1, note: missing("perf")}
	pipe := row{what: what + ": trace_pipe", unit: "events", most: -1, note: missing("perf")}
	err = b.withProbe(ctx, "malloc", func(h *hits, probe perfProbe) error {
		for range b.runs {
			for _, tool := range []struct {
				counted func(context.Context, *hits, perfProbe, int) (uint64, error)
				values  *[]float64
				missing string
			}{
				{b.countedByRingtap, &own.own, ""},
				{b.countedByPerf, &perf.peer, perf.note},
				{b.countedByTracePipe, &pipe.peer, pipe.note},
			} {
				if tool.missing != "" {
					continue
				}
				counted, err := tool.counted(ctx, h, probe, calls)
				if err != nil {
					return err
				}
				if counted > uint64(calls) {
					return fmt.Errorf("%d of %d calls were counted", counted, calls)
				}
				*tool.values = append(*tool.values, float64(uint64(calls)-counted))
			}
		}
		return nil
	})
	return []row{own, perf, pipe}, err
}

// fullSpeed is what happens under the probe.
func fullSpeed(h *hits, calls int) func() error {
	return func() error {
		_, err := h.run(calls)
		return err
	}
}

func (b *bench) countedByRingtap(ctx context.Context, h *hits, _ perfProbe, calls int) (uint64, error) {
	folded := filepath.Join(b.dir, "lost.folded")
	if _, err := h.underProbe(ctx, onOtherCPU(b.ringtap, "probe", "--count", "-u", "-i", "3600",
		"-p", strconv.Itoa(h.pid()), "--out", folded, "libc:malloc"), fullSpeed(h, calls)); err != nil {
		return 0, err
	}
	return scanFile(folded, countFolded)
}

func (b *bench) countedByPerf(ctx context.Context, h *hits, probe perfProbe, calls int) (uint64, error) {
	r, err := h.underProbe(ctx, onOtherCPU("perf", "record", "-g", "-c", "1", "-p", strconv.Itoa(h.pid()),
		"-e", probe.event(), "-o", filepath.Join(b.dir, "lost.data")), fullSpeed(h, calls))
	if err != nil {
		return 0, err
	}
	return recordedSamples(r.stderr)
}
