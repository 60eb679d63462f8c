package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ringtap/ringtap/ftrace"
)

// tracePipe is a tracing instance of our own in which one event of one thread is
// enabled.
type tracePipe struct{ dir, enable string }

func newTracePipe(probe perfProbe, tid int) (p tracePipe, err error) {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return p, err
	}
	p.dir = filepath.Join(tracefs.Dir(), "instances", probe.group)
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		return p, err
	}
	event := filepath.Join(p.dir, "events", probe.group, probe.name)
	p.enable = filepath.Join(event, "enable")
	filter := fmt.Sprintf("common_pid == %d", tid)
	if err := errors.Join(os.WriteFile(filepath.Join(event, "filter"), []byte(filter), 0),
		os.WriteFile(p.enable, []byte("1"), 0)); err != nil {
		return p, errors.Join(err, p.close())
	}
	return p, nil
}

func (p tracePipe) disable() error { return os.WriteFile(p.enable, []byte("0"), 0) }

// close removes the instance, which nobody may read any more.
func (p tracePipe) close() error {
	return errors.Join(p.disable(), os.Remove(p.dir))
}

// sum adds up one of the numbers that the kernel keeps of the buffer of each CPU.
func (p tracePipe) sum(name string) (sum uint64, err error) {
	files, err := filepath.Glob(filepath.Join(p.dir, "per_cpu", "cpu*", "stats"))
	if err != nil {
		return 0, err
	}
	if len(files) == 0 {
		return 0, fmt.Errorf("%s has no statistics", p.dir)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		n, err := bufferStat(text, name)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		sum += n
	}
	return sum, nil
}

// drained waits until the reader has read all that is in the buffers.
func (p tracePipe) drained(ctx context.Context) error {
	limit := time.Now().Add(time.Minute)
	for time.Now().Before(limit) {
		switch entries, err := p.sum("entries"); {
		case err != nil:
			return err
		case entries == 0:
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errors.New("trace_pipe is not read to its end within a minute")
}

// countedByTracePipe has the events read as text.
func (b *bench) countedByTracePipe(ctx context.Context, h *hits, probe perfProbe, calls int) (counted uint64, err error) {
	pipe, err := newTracePipe(probe, h.pid())
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, pipe.close()) }()
	_, err = h.underProbe(ctx, onOtherCPU("cat", filepath.Join(pipe.dir, "trace_pipe")), func() error {
		if _, err := h.run(calls); err != nil {
			return err
		}
		if err := pipe.drained(ctx); err != nil {
			return err
		}
		counted, err = pipe.sum("read events")
		return errors.Join(err, pipe.disable())
	})
	return counted, err
}
