package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// readZero is the kernel's read(2) of /dev/zero: nobody else calls it.
const readZero = "read_zero"

// kprobe measures what a kernel probe adds to a call that it counts by stack.
func (b *bench) kprobe(ctx context.Context) (rows []row, err error) {
	v, err := b.inGuest(ctx, "6.1", "kprobe")
	targets := map[string]float64{"bpftrace": 1, "perf record": 1}
	none := map[string]float64{"bpftrace": -1, "perf record": -1}
	for _, kind := range []string{byKernel, byBoth} {
		rows = append(rows, v.beside("a hit on "+readZero+kind, "ns", targets)...)
		rows = append(rows, v.beside("the same with the tool's own work"+kind, "ns", none)...)
		rows = append(rows, row{what: "lost" + kind, unit: "events", own: v["ringtap: lost"+kind]})
		for _, tool := range sortedKeys(none) {
			rows = append(rows, row{what: "lost" + kind + ": " + tool, unit: "events", peer: v[tool+": lost"+kind], most: -1})
		}
	}
	rows[0].note = emulated
	return rows, err
}

const (
	byKernel = ", by kernel stack"
	byBoth   = ", by kernel and user stack"
)

// stackTool is a tool that counts a function's calls by stack.
type stackTool struct {
	name, missing string
	args          []string
	counted       func(result) (uint64, error)
}

func (b *bench) kernelStackTools(kind, event string) []stackTool {
	folded, data := filepath.Join(b.dir, "k.folded"), filepath.Join(b.dir, "k.data")
	own := []string{b.ringtap, "probe", "--count", "-i", "3600", "--out", folded, readZero}
	script := "kprobe:" + readZero + " { @[kstack, ustack] = count(); }"
	perf := []string{"perf", "record", "-a", "-g", "-c", "1", "-e", event, "-o", data}
	if kind == byKernel {
		own = append(own, "-k")
		script = "kprobe:" + readZero + " { @[kstack] = count(); }"
		perf = append(perf, "--kernel-callchains")
	}
	printed := filepath.Join(b.dir, "bpftrace.out")
	return []stackTool{
		{name: "ringtap", args: own, counted: func(result) (uint64, error) { return scanFile(folded, countFolded) }},
		{name: "bpftrace", missing: missing("bpftrace"), args: []string{"bpftrace", "-o", printed, "-e", script},
			counted: func(result) (uint64, error) { return scanFile(printed, bpftraceSum) }},
		{name: "perf record", missing: missing("perf"), args: perf,
			counted: func(r result) (uint64, error) { return recordedSamples(r.stderr) }},
	}
}

// kprobeInGuest is its other half.
func (b *bench) kprobeInGuest(ctx context.Context, v values) error {
	h, err := b.startHits(ctx)
	if err != nil {
		return err
	}
	defer h.stop()
	event := ""
	if missing("perf") == "" {
		probe, err := b.addPerfProbe(ctx, "", readZero)
		if err != nil {
			return err
		}
		defer probe.remove()
		event = probe.event()
	}
	for range b.runs {
		for _, kind := range []string{byKernel, byBoth} {
			base, err := h.readRounds(b.hits)
			if err != nil {
				return err
			}
			for _, tool := range b.kernelStackTools(kind, event) {
				if tool.missing != "" {
					continue
				}
				took, r, err := b.readsUnder(ctx, h, readZero, tool.args)
				if err != nil {
					return err
				}
				counted, err := tool.counted(r)
				if err != nil {
					return err
				}
				calls := uint64(readRounds * b.hits)
				if counted > calls {
					return fmt.Errorf("%s counted %d of %d calls", tool.name, counted, calls)
				}
				v.add(tool.name+": a hit on "+readZero+kind, took.own-base.own)
				v.add(tool.name+": the same with the tool's own work"+kind, took.elapsed-base.elapsed)
				v.add(tool.name+": lost"+kind, float64(calls-counted))
			}
		}
	}
	return nil
}

// readRounds is how often the reads are repeated under each tool.
const readRounds = 3

// readTime is what one read(2) took: of the thread's own time, and elapsed. With
// one CPU the difference is what others did meanwhile: the tool.
type readTime struct{ own, elapsed float64 }

// readRounds returns the medians of readRounds runs of n reads.
func (h *hits) readRounds(n int) (readTime, error) {
	var own, elapsed []float64
	for range readRounds {
		before := time.Now()
		took, err := h.askNumber(fmt.Sprintf("read %d", n))
		if err != nil {
			return readTime{}, err
		}
		own = append(own, float64(took)/float64(n))
		elapsed = append(elapsed, float64(time.Since(before))/float64(n))
	}
	return readTime{median(own), median(elapsed)}, nil
}

// settleInGuest is settle where all takes longer.
const settleInGuest = 4 * settle

// readsUnder reads while a tool traces the function.
func (b *bench) readsUnder(ctx context.Context, h *hits, function string, args []string) (took readTime, r result, err error) {
	tool, err := launch(ctx, nil, args[0], args[1:]...)
	if err != nil {
		return took, r, err
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(tool.done, cancel)()
	if err = awaitPatched(waiting, function, true); err == nil {
		time.Sleep(settleInGuest)
		took, err = h.readRounds(b.hits)
	}
	r, ended := tool.stop()
	switch {
	case ended != nil:
		return took, r, ended
	case err != nil:
		return took, r, tool.failed(err)
	}
	return took, r, awaitPatched(ctx, function, false)
}
