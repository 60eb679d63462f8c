package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// turn is one turn of a tool, and what there is to read from it.
type turn struct {
	*session
	tool    tool
	base    quantities    // of the workload without a tool
	with    quantities    // of the operation under the tool
	began   time.Duration // on the clock of monotonic
	ending  time.Duration // from Ctrl-C to the end
	running *background   // nil for a tool that runs to its end by itself
	alarms  []int64       // of the pressure, meanwhile
	result
}

// turn runs a tool once and adds what it measures.
func (s *session) turn(ctx context.Context, tool tool) error {
	_ = os.Remove(s.vars["out"]) // of the turn before
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

// take runs the tool: to its end by itself, or while the operation is measured.
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

// cleaned removes what the tool leaves behind, even where the context has ended.
func (t *turn) cleaned() error {
	if t.tool.clean == "" {
		return nil
	}
	_, err := t.run(context.Background(), t.tool.clean)
	return err
}

// add adds what the turn has measured.
func (t *turn) add(quantity string, value float64) {
	key := t.tool.name
	if quantity != "" {
		key += ": " + quantity
	}
	t.Values[key] = append(t.Values[key], value)
}

// note is printed below the table; the last turn's stays.
func (t *turn) note(format string, args ...any) {
	t.Notes[t.tool.name] = fmt.Sprintf(format, args...)
}

// launched has nothing to wait for.
func launched(context.Context, *turn, bool) error { return nil }

// started gives tools three seconds to start; bpftrace compiles.
func started(ctx context.Context, _ *turn, ready bool) error {
	if !ready {
		return nil
	}
	return pause(ctx, 3*time.Second)
}

// probed waits until the tool's probe on the program has come, or is gone.
func probed(ctx context.Context, t *turn, ready bool) error {
	if err := t.program.await(ctx, ready); err != nil || !ready {
		return err
	}
	return t.settle(ctx)
}

// unprobed is probed of a tool whose start is measured.
func unprobed(ctx context.Context, t *turn, ready bool) error {
	if ready {
		return nil
	}
	return t.program.await(ctx, false)
}

// settle leaves a tool alone whose probe is in place: the instruction is replaced
// before the events count. All takes longer in a guest.
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

// patched waits until a function of the kernel is traced, or no more.
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
