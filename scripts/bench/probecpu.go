package main

import (
	"context"
	"path/filepath"
)

// probeCPU measures the CPU seconds that a tool uses for a million hits on malloc,
// from its start to stacks. Each tool's seconds are divided by the hits that it
// has, which are fewer than there were where it lost some.
func (b *bench) probeCPU(ctx context.Context) (rows []row, err error) {
	r := row{what: "a million hits on malloc, CPU to stacks", unit: "s"}
	noPerf := missing("perf")
	var perf []float64
	err = b.withProbe(ctx, "malloc", func(h *hits, probe perfProbe) error {
		for range b.runs {
			own, err := b.ringtapPerMillion(ctx, h)
			if err != nil {
				return err
			}
			r.own = append(r.own, own)
			if noPerf != "" {
				continue
			}
			peer, err := b.perfPerMillion(ctx, h, probe)
			if err != nil {
				return err
			}
			perf = append(perf, peer)
		}
		return nil
	})
	return []row{r.against("perf record and script", noPerf, perf, 0.1)}, err
}

func (b *bench) ringtapPerMillion(ctx context.Context, h *hits) (float64, error) {
	folded := filepath.Join(b.dir, "cpu.folded")
	used, err := h.underProbe(ctx, onOtherCPU(b.ringtap, "probe", "--count", "-u", "-i", "3600",
		"--out", folded, "libc:malloc"), fullSpeed(h, 2*b.hits))
	if err != nil {
		return 0, err
	}
	counted, err := scanFile(folded, countFolded)
	return perMillion(used.cpu.Seconds(), counted), err
}

// perfPerMillion divides the seconds of recording by the samples recorded, those
// of perf script by the samples that it came to print.
func (b *bench) perfPerMillion(ctx context.Context, h *hits, probe perfProbe) (float64, error) {
	data, script := filepath.Join(b.dir, "cpu.data"), filepath.Join(b.dir, "cpu.script")
	used, err := h.underProbe(ctx, onOtherCPU("perf", "record", "-a", "-g", "-c", "1",
		"-e", probe.event(), "-o", data), fullSpeed(h, 2*b.hits))
	if err != nil {
		return 0, err
	}
	recorded, err := recordedSamples(used.stderr)
	if err != nil {
		return 0, err
	}
	scripted, _, err := b.scriptAndCollapse(ctx, script, data)
	if err != nil {
		return 0, err
	}
	printed, err := scanFile(script, countScript)
	return perMillion(used.cpu.Seconds(), recorded) + perMillion(scripted, printed), err
}

func perMillion(seconds float64, hits uint64) float64 { return seconds / float64(hits) * 1e6 }
