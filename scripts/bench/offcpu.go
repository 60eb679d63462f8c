package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
)

// pipeOps is how many messages perf bench sends there and back, and millionOps how
// many make a million switches: a tool's start and its report are not seven times what
// they are.
const (
	pipeOps    = 100_000
	millionOps = 500_000
)

// armedAfter is how long tools get to start; bpftrace compiles.
const armedAfter = 3 * time.Second

// switcher is a program that switches between threads all the time.
type switcher struct {
	what string
	unit string
	// run returns what one operation takes.
	run func(context.Context) (float64, error)
}

// offCPU measures what it adds to each operation of programs that switch all the
// time that every switch of the system is recorded with its stacks, and the CPU
// seconds from there to the report.
func (b *bench) offCPU(ctx context.Context) (rows []row, err error) {
	if why := missing("perf"); why != "" {
		return nil, errors.New(why)
	}
	server, err := b.startPostgres(ctx)
	switchers := []switcher{
		{"perf bench sched pipe, an operation", "µs", func(ctx context.Context) (float64, error) {
			r, err := pipe(ctx, pipeOps)
			if err != nil {
				return 0, err
			}
			return firstNumber(r.stdout, usecsPerOp)
		}},
		// What a busy machine does meanwhile is not in this one.
		{"perf bench sched pipe, CPU of an operation", "µs", func(ctx context.Context) (float64, error) {
			r, err := pipe(ctx, pipeOps)
			return r.cpu.Seconds() * 1e6 / pipeOps, err
		}},
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench: no pgbench:", err)
	} else {
		defer func() { err = errors.Join(err, server.stop()) }()
		switchers = append(switchers, switcher{"pgbench -S, a transaction", "µs", server.transaction})
	}
	data := filepath.Join(b.dir, "switches.data")
	tools := []prober{
		{tool: "ringtap", args: []string{b.ringtap, "off-cpu", "-i", "3600", "--out", filepath.Join(b.dir, "off.folded")}},
		{tool: "perf record -g", args: []string{"perf", "record", "-q", "-e", "sched:sched_switch", "-a", "-g", "-o", data}},
		{tool: "bpftrace", missing: missing("bpftrace"), args: []string{"bpftrace", "-e", "tracepoint:sched:sched_switch { @[kstack, ustack] = count(); }"}},
	}
	for _, s := range switchers {
		added, err := b.slowdown(ctx, s, tools)
		r := row{what: s.what + ": slower by", unit: s.unit, own: added[0]}
		rows = append(rows, r.against(tools[1].tool, "", added[1], 0.5), r.against(tools[2].tool, tools[2].missing, added[2], 1))
		if err != nil {
			return rows, err
		}
	}
	cpu := row{what: "a million switches of perf bench sched pipe, CPU to folded stacks", unit: "s"}
	var peer []float64
	for range b.runs {
		own, other, note, err := b.switchCPU(ctx, tools)
		if err != nil {
			return append(rows, cpu.against("perf record and script", "", peer, 0.1)), err
		}
		cpu.own, peer, cpu.note = append(cpu.own, own), append(peer, other), note
	}
	return append(rows, cpu.against("perf record and script", "", peer, 0.1)), nil
}

// pipe sends messages there and back between two processes.
func pipe(ctx context.Context, messages int) (result, error) {
	return run(ctx, nil, "perf", "bench", "sched", "pipe", "-l", strconv.Itoa(messages))
}

// slowdown returns, for each tool, what an operation takes longer while it runs than
// before and after that. The tools alternate within each run.
func (b *bench) slowdown(ctx context.Context, s switcher, tools []prober) ([][]float64, error) {
	added := make([][]float64, len(tools))
	before, err := s.run(ctx)
	if err != nil {
		return added, err
	}
	for range b.runs {
		for i, tool := range tools {
			if tool.missing != "" {
				continue
			}
			var took float64
			_, err := whileItRuns(ctx, tool, func() (err error) { took, err = s.run(ctx); return err })
			if err != nil && took == 0 { // bpftrace may take minutes to print its stacks, and is killed
				return added, err
			}
			after, err := s.run(ctx)
			if err != nil {
				return added, err
			}
			added[i] = append(added[i], took-(before+after)/2)
			before = after
		}
	}
	return added, nil
}

// whileItRuns runs f while a tool does, and returns what the tool used to its end.
func whileItRuns(ctx context.Context, tool prober, f func() error) (result, error) {
	t, err := launch(ctx, nil, tool.args[0], tool.args[1:]...)
	if err != nil {
		return result{}, err
	}
	select {
	case <-time.After(armedAfter):
		err = f()
	case <-t.done.Done():
		err = errors.New("it has ended")
	}
	r, ended := t.stop()
	return r, errors.Join(err, ended)
}

// switchCPU returns the CPU seconds of ringtap and of perf from a million switches to
// folded stacks, and how much of them each has in the end.
func (b *bench) switchCPU(ctx context.Context, tools []prober) (own, peer float64, note string, err error) {
	f := func() error { _, err := pipe(ctx, millionOps); return err }
	used, err := whileItRuns(ctx, tools[0], f)
	if err != nil {
		return 0, 0, "", err
	}
	recorded := receivedOf.Find(used.stderr)
	own = used.cpu.Seconds()
	if used, err = whileItRuns(ctx, tools[1], f); err != nil {
		return 0, 0, "", err
	}
	script := filepath.Join(b.dir, "switches.script")
	scripted, cut, err := b.scriptAndCollapse(ctx, script, filepath.Join(b.dir, "switches.data"))
	if err != nil {
		return 0, 0, "", err
	}
	printed, err := scanFile(script, countScript)
	note = fmt.Sprintf("in the last run ringtap has %s; perf script %d", recorded, printed)
	if cut {
		note += fmt.Sprintf(", when it was stopped after %v", b.scriptTimeout)
	}
	return own, used.cpu.Seconds() + scripted, note, err
}

// receivedOf is what ringtap says of the switches that it has, and of those that it lost.
var receivedOf = regexp.MustCompile(`\d+ samples received(, \d+ lost)?`)
