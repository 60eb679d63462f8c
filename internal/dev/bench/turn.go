package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// turn is one turn of a tool, and what was measured in it.
type turn struct {
	*session
	tool    tool
	base    quantities    // measured without a tool
	with    quantities    // measured under the tool
	began   time.Duration // when the tool was started, on the clock of monotonic
	ending  time.Duration // from Ctrl-C to the tool's end
	running *background   // nil for a tool that ends by itself, and without a tool
	alarms  []int64       // when the pressure trigger fired
	result
}

// turn runs a tool once and adds what it measures.
func (s *session) turn(ctx context.Context, tool tool) error {
	_ = os.Remove(s.vars["out"]) // from the previous turn
	if s.pinned {
		tool.line = "taskset -c 0 " + tool.line
	}
	t := &turn{session: s, tool: tool, base: s.base}
	if err := s.profiled.during(func() error { return t.take(ctx) }); err != nil {
		return err
	}
	if s.again {
		after, err := s.alone(ctx, &turn{session: s})
		if err != nil {
			return err
		}
		t.base = quantities{}
		for quantity := range after {
			t.base[quantity] = (s.base[quantity] + after[quantity]) / 2
		}
		s.base = after
	}
	readings := tool.read
	if readings == nil {
		readings = s.read
	}
	for _, r := range readings {
		v, err := r.value(ctx, t)
		if err != nil {
			return err
		}
		t.add(r.quantity, v)
	}
	return nil
}

// take runs the tool until it ends by itself, or while the operation under it is measured.
func (t *turn) take(ctx context.Context) (err error) {
	if t.ready == nil {
		t.began = monotonic()
		t.result, err = t.run(ctx, t.tool.line)
		return err
	}
	if err := t.ready(ctx, t, false); err != nil {
		return err
	}
	args := t.args(t.tool.line)
	t.began = monotonic()
	if t.running, err = launch(ctx, nil, args[0], args[1:]...); err != nil {
		return err
	}
	t.vars["tool"] = strconv.Itoa(t.running.cmd.Process.Pid)
	defer func() { err = errors.Join(err, t.cleaned()) }()
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.running.done, cancel)()
	if err = t.ready(waiting, t, true); err == nil && t.under != nil {
		t.with, err = t.under(ctx, t)
	}
	stop := monotonic()
	var ended error
	t.result, ended = t.running.stop()
	t.ending = monotonic() - stop
	switch {
	case ended != nil && !(t.tool.killed && err == nil):
		return ended
	case err != nil:
		return t.running.failed(err)
	}
	return t.ready(ctx, t, false)
}

// cleaned removes what the tool leaves behind, even if the context has ended.
func (t *turn) cleaned() error {
	if t.tool.clean == "" {
		return nil
	}
	_, err := t.run(context.Background(), t.tool.clean)
	return err
}

// add adds a value of the turn to the outcome.
func (t *turn) add(quantity string, value float64) {
	key := t.tool.name
	if quantity != "" {
		key += ": " + quantity
	}
	t.Values[key] = append(t.Values[key], value)
}

// note sets the note about the tool that is printed below the table. It replaces that of the turn
// before.
func (t *turn) note(format string, args ...any) {
	t.Notes[t.tool.name] = fmt.Sprintf(format, args...)
}

// launched is a readiness that waits for nothing.
func launched(context.Context, *turn, bool) error { return nil }

// started is a readiness that gives tools three seconds to start, because bpftrace compiles.
func started(ctx context.Context, _ *turn, ready bool) error {
	if !ready {
		return nil
	}
	return pause(ctx, 3*time.Second)
}

// probed is a readiness that waits until the tool's probe on the program is set, or is gone.
func probed(ctx context.Context, t *turn, ready bool) error {
	if err := t.program.await(ctx, ready); err != nil || !ready {
		return err
	}
	return t.settle(ctx)
}

// unprobed is a readiness for a tool whose start is measured. It only waits until no probe is left.
func unprobed(ctx context.Context, t *turn, ready bool) error {
	if ready {
		return nil
	}
	return t.program.await(ctx, false)
}

// settle waits a moment after a probe was set: the kernel replaces the instruction before
// the events count. In a guest this takes longer.
func (t *turn) settle(ctx context.Context) error {
	if t.kernel != "" {
		return pause(ctx, 2*time.Second)
	}
	return pause(ctx, 500*time.Millisecond)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// patched returns a readiness that waits until a kernel function is traced, or is no longer traced.
func patched(function string) readiness {
	return func(ctx context.Context, t *turn, ready bool) error {
		err := poll(ctx, 2*time.Minute, 200*time.Millisecond, func() (bool, error) {
			n, err := t.patched(function)
			return (n > 0) == ready, err
		}, "no function has come to be traced, or to be left, within two minutes")
		if err != nil || !ready {
			return err
		}
		return t.settle(ctx)
	}
}
