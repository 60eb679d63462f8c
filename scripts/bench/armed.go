package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// tracer is a tool that is asked to trace a64l of libc, system-wide.
type tracer struct {
	name    string
	args    []string
	missing string                          // why it cannot run; "" if it can
	count   func(io.Reader) (uint64, error) // of the hits in its output
	cleanUp func(pid int) error             // of what it leaves behind when killed; nil: nothing
}

// armed measures how long a tool takes from being spawned to the first call of
// a64l that it counts. Nobody else calls that, and the program calls it every
// 100 µs and knows when. A tool that counted n calls in the end counted the last
// n, so the time of the first of those is when it was ready.
func (b *bench) armed(ctx context.Context) ([]row, error) {
	h, err := b.startHits(ctx)
	if err != nil {
		return nil, err
	}
	defer h.stop()
	if err := h.await(ctx, false); err != nil {
		return nil, err
	}
	alias := fmt.Sprintf("bench_%d", os.Getpid())
	tracers := []tracer{
		{name: "ringtap", args: []string{b.ringtap, "uprobe", "p:" + alias + " libc:a64l"}, count: lineCounter(alias)},
		{name: "bpftrace", args: []string{"bpftrace", "-e", "uprobe:" + h.libc + ":a64l { @ = count(); }"},
			missing: missing("bpftrace"), count: bpftraceCount},
		b.perfToolsUprobe(alias),
	}
	if tracers[2].missing == "" {
		unmount, err := mountDebugfs()
		if err != nil {
			return nil, err
		}
		defer unmount()
	}
	took := make([][]float64, len(tracers))
	for range b.runs {
		for i, t := range tracers {
			if t.missing != "" {
				continue
			}
			one, err := b.untilCounted(ctx, h, t)
			if err != nil {
				return armedRows(tracers, took), err
			}
			took[i] = append(took[i], one)
		}
	}
	return armedRows(tracers, took), nil
}

func armedRows(tracers []tracer, took [][]float64) []row {
	r := row{what: "start to first hit on libc", unit: "ms", own: took[0]}
	return []row{
		r.against(tracers[1].name, tracers[1].missing, took[1], 0.1),
		r.against(tracers[2].name, tracers[2].missing, took[2], -1),
	}
}

// untilCounted returns the milliseconds from spawning the tracer to the first
// call that it counts.
func (b *bench) untilCounted(ctx context.Context, h *hits, t tracer) (_ float64, err error) {
	path := filepath.Join(b.dir, "armed.out")
	output, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	defer output.Close()
	if err := h.say("tick"); err != nil {
		return 0, err
	}
	before := monotonic()
	tool, err := launch(ctx, output, t.args[0], t.args[1:]...)
	if err != nil {
		return 0, err
	}
	if t.cleanUp != nil {
		defer func() { err = errors.Join(err, t.cleanUp(tool.cmd.Process.Pid)) }()
	}
	calls, err := h.ticks(tool)
	time.Sleep(settle) // its output comes later than its hits
	if _, ended := tool.stop(); err != nil || ended != nil {
		return 0, errors.Join(err, ended)
	}
	counted, err := scanFile(path, t.count)
	if err != nil {
		return 0, err
	}
	if counted == 0 || counted > calls {
		return 0, tool.failed(fmt.Errorf("%d of %d calls were counted", counted, calls))
	}
	first, err := h.at(calls - counted)
	if err != nil {
		return 0, err
	}
	return float64(first-before) / 1e6, h.await(ctx, false)
}
