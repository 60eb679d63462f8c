package main

import (
	"context"
	"fmt"
	"time"
)

// thousand is a pattern that about a thousand functions of the kernel match.
const thousand = "*read*"

const (
	toArmed = "from start until no function more is armed"
	toEnd   = "from Ctrl-C to the end"
)

// attach measures how long tools take to trace about a thousand functions, and to
// leave them again.
func (b *bench) attach(ctx context.Context) (rows []row, err error) {
	v, err := b.inGuest(ctx, "6.1", "attach")
	for _, command := range []string{"ringtap funccount", "ringtap kprobe"} {
		for _, what := range []string{toArmed, toEnd} {
			r := row{what: command + " '" + thousand + "', " + what, unit: "s", own: v[command+": "+what]}
			rows = append(rows, r.against("bpftrace", missing("bpftrace"), v["bpftrace: "+what], 1))
		}
	}
	for _, tool := range []string{"ringtap funccount", "ringtap kprobe", "bpftrace"} {
		rows = append(rows, row{what: tool + " '" + thousand + "'", unit: "functions", own: v[tool+": functions"], most: -1})
	}
	rows[0].note = emulated
	return rows, err
}

// attachInGuest is its other half.
func (b *bench) attachInGuest(ctx context.Context, v values) error {
	tools := []struct {
		name, missing string
		args          []string
	}{
		{"ringtap funccount", "", []string{b.ringtap, "funccount", thousand}},
		{"ringtap kprobe", "", []string{b.ringtap, "kprobe", "--limit", "2000", "p:" + thousand}},
		{"bpftrace", missing("bpftrace"), []string{"env", "BPFTRACE_MAX_PROBES=2000", "bpftrace", "-e", "kprobe:" + thousand + " { @[func] = count(); }"}},
	}
	for range b.runs {
		for _, tool := range tools {
			if tool.missing != "" {
				continue
			}
			before, err := patched("")
			if err != nil {
				return err
			}
			start := monotonic()
			t, err := launch(ctx, nil, tool.args[0], tool.args[1:]...)
			if err != nil {
				return err
			}
			armed, functions, err := untilArmed(ctx, t, before)
			if err != nil {
				t.stop()
				return t.failed(err)
			}
			stop := monotonic()
			if _, err := t.stop(); err != nil {
				return err
			}
			v.add(tool.name+": "+toArmed, (armed - start).Seconds())
			v.add(tool.name+": "+toEnd, (monotonic() - stop).Seconds())
			v.add(tool.name+": functions", float64(functions))
		}
	}
	return nil
}

// stable is for how long there must be no function more.
const stable = 5 * time.Second

// untilArmed returns when the last function was armed, as nearly as one may ask
// without being in the way, and how many there are.
func untilArmed(ctx context.Context, tool *background, before int) (at time.Duration, functions int, err error) {
	limit := monotonic() + 5*time.Minute
	for monotonic() < limit {
		now := monotonic()
		n, err := patched("")
		if err != nil {
			return 0, 0, err
		}
		if n-before > functions {
			at, functions = now, n-before
		}
		if functions > 0 && now-at > stable {
			return at, functions, nil
		}
		select {
		case <-ctx.Done():
			return 0, 0, ctx.Err()
		case <-tool.done.Done():
			return 0, 0, fmt.Errorf("it has ended with %d functions armed", functions)
		case <-time.After(200 * time.Millisecond):
		}
	}
	return 0, 0, errNoPatch
}
