package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
)

// prober is one way in which a tool watches a function.
type prober struct {
	tool string
	args []string
	// missing says why it cannot run; "" if it can.
	missing string
	// calls are how many of them each of its rounds has.
	calls int
}

// perHit measures the nanoseconds that each way adds to each call, beyond what the
// calls take without a probe. The ways alternate within each run.
func (b *bench) perHit(ctx context.Context, h *hits, ways []prober) ([][]float64, error) {
	added := make([][]float64, len(ways))
	for range b.runs {
		base, err := h.rounds(b.hits)
		if err != nil {
			return added, err
		}
		for i, way := range ways {
			if way.missing != "" {
				continue
			}
			var took float64
			if _, err := h.underProbe(ctx, onOtherCPU(way.args...), func() (err error) {
				took, err = h.rounds(way.calls)
				return err
			}); err != nil {
				return added, err
			}
			added[i] = append(added[i], took-base)
		}
	}
	return added, nil
}

// stackProbers are the tools that count the calls of a function by user stack and
// print nothing. Their order is ringtap, bpftrace, perf.
func (b *bench) stackProbers(libc, function, event string) []prober {
	return []prober{
		{tool: "ringtap", calls: b.hits, args: []string{b.ringtap, "probe", "--count", "-u", "-i", "3600", // one report, at the end
			"--out", filepath.Join(b.dir, "hits.folded"), "libc:" + function}},
		{tool: "bpftrace", calls: b.hits, missing: missing("bpftrace"),
			args: []string{"bpftrace", "-e", "uprobe:" + libc + ":" + function + " { @[ustack] = count(); }"}},
		{tool: "perf record -g", calls: b.hits, missing: missing("perf"), args: []string{"perf", "record", "-q", "-a", "-g", "-c", "1",
			"-e", event, "-o", filepath.Join(b.dir, "hits.data")}},
	}
}

// countProbers are the tools that only count the calls of a function.
func (b *bench) countProbers(libc, function, event string) []prober {
	return []prober{
		{tool: "ringtap", calls: b.hits, args: []string{b.ringtap, "funccount", "libc:" + function}},
		{tool: "bpftrace", calls: b.hits, missing: missing("bpftrace"),
			args: []string{"bpftrace", "-e", "uprobe:" + libc + ":" + function + " { @ = count(); }"}},
		{tool: "perf stat", calls: b.hits, missing: missing("perf"), args: []string{"perf", "stat", "-a", "-e", event}},
	}
}

// withProbe runs f with the program that calls the function, and with perf's
// event on that function, where perf is installed.
func (b *bench) withProbe(ctx context.Context, function string, f func(h *hits, probe perfProbe) error) (err error) {
	h, err := b.startHits(ctx)
	if err != nil {
		return err
	}
	defer h.stop()
	if err := h.await(ctx, false); err != nil {
		return err
	}
	if missing("perf") != "" {
		return f(h, perfProbe{})
	}
	probe, err := b.addPerfProbe(ctx, h.libc, function)
	if err != nil {
		return err
	}
	defer func() {
		if left := probe.remove(); left != nil {
			err = errors.Join(err, fmt.Errorf("remove the event %s: %w", probe.event(), left))
		}
	}()
	return f(h, probe)
}

func (b *bench) malloc(ctx context.Context) (rows []row, err error) {
	err = b.withProbe(ctx, "malloc", func(h *hits, probe perfProbe) error {
		ways := b.stackProbers(h.libc, "malloc", probe.event())
		added, err := b.perHit(ctx, h, ways)
		r := row{what: "a hit on malloc, counted by stack", unit: "ns", own: added[0]}
		rows = []row{
			r.against(ways[1].tool, ways[1].missing, added[1], 1),
			r.against(ways[2].tool, ways[2].missing, added[2], 0.75),
		}
		return err
	})
	return rows, err
}

// stepped is how many times fewer calls those tools get whose probe the kernel
// must single-step.
const stepped = 5

// free measures a function whose first instruction the kernel single-steps, which
// ringtap's placement avoids.
func (b *bench) free(ctx context.Context) (rows []row, err error) {
	err = b.withProbe(ctx, "free", func(h *hits, probe perfProbe) error {
		for _, kind := range []struct {
			what string
			ways []prober
		}{
			{"a hit on free, counted", b.countProbers(h.libc, "free", probe.event())},
			{"a hit on free, counted by stack", b.stackProbers(h.libc, "free", probe.event())},
		} {
			for i := range kind.ways[1:] {
				kind.ways[1+i].calls = max(1, b.hits/stepped)
			}
			added, err := b.perHit(ctx, h, kind.ways)
			r := row{what: kind.what, unit: "ns", own: added[0]}
			for i, way := range kind.ways[1:] {
				rows = append(rows, r.against(way.tool, way.missing, added[1+i], 0.2))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return rows, err
}
