package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// pipeline is the way from nothing to folded stacks with one kind of
// unwinding, by either tool.
type pipeline struct {
	name      string
	unwind    string   // ringtap's --unwind
	callGraph []string // perf record's flags
	programs  []string // the workload's
	most      float64  // ratio of the whole way to reach
	mostAlone float64  // ratio of the recording alone to reach
}

func (b *bench) framePointers(ctx context.Context) ([]row, error) {
	return b.pipeline(ctx, pipeline{
		name: "frame pointers", unwind: "fp", callGraph: []string{"-g"},
		programs: []string{"threads-fp", "middle-fp"}, most: 1. / 5, mostAlone: 1,
	})
}

func (b *bench) dwarf(ctx context.Context) ([]row, error) {
	return b.pipeline(ctx, pipeline{
		name: ".eh_frame", unwind: "dwarf", callGraph: []string{"--call-graph", "dwarf"},
		programs: []string{"threads-nofp", "middle-nofp"}, most: 1. / 10, mostAlone: -1,
	})
}

// cost is the CPU seconds of one run and how many samples it saw.
type cost struct {
	whole, recording float64
	noInline         float64 // perf's whole way without looking up inlined functions
	samples          uint64
	cut              bool  // perf script did not get to its end
	silent           error // why recording alone is not known
}

// pipeline alternates the two tools and returns the rows of the whole way and
// the row of recording alone. perf script looks up inlined functions where
// there is debug information, which ringtap does only when asked, so perf's
// way without that is a row too.
func (b *bench) pipeline(ctx context.Context, p pipeline) ([]row, error) {
	load, err := b.newWorkload(ctx, p.programs...)
	if err != nil {
		return nil, err
	}
	whole := row{what: p.name + ": CPU to folded stacks", unit: "s", most: p.most}
	noInline := row{what: p.name + ": against perf script --no-inline", unit: "s", most: -1}
	alone := row{what: p.name + ": recording alone", unit: "s", most: p.mostAlone}
	var own, peer cost
	cuts := 0
	for range b.runs {
		if own, err = b.runRingtap(ctx, p, load); err != nil {
			break
		}
		if peer, err = b.runPerf(ctx, p, load); err != nil {
			break
		}
		whole.own, whole.peer = append(whole.own, own.whole), append(whole.peer, peer.whole)
		noInline.own, noInline.peer = append(noInline.own, own.whole), append(noInline.peer, peer.noInline)
		if own.silent != nil {
			alone.note = own.silent.Error()
		} else {
			alone.own = append(alone.own, own.recording)
		}
		alone.peer = append(alone.peer, peer.recording)
		if peer.cut {
			cuts++
		}
	}
	whole.note = fmt.Sprintf("in the last run %d samples by ringtap, %d by perf", own.samples, peer.samples)
	if cuts > 0 {
		whole.note += fmt.Sprintf("; perf script was stopped after %v in %d of %d runs, so perf's true figure is higher",
			b.scriptTimeout, cuts, b.runs)
	}
	return []row{whole, noInline, alone}, err
}

func (b *bench) runRingtap(ctx context.Context, p pipeline, load workload) (c cost, err error) {
	folded := filepath.Join(b.dir, "ringtap.folded")
	var r result
	if err := load.during(func() (err error) {
		r, err = run(ctx, nil, b.ringtap, "on-cpu", "-v", "--unwind", p.unwind,
			"-f", "999", "-d", strconv.Itoa(b.seconds),
			"-i", strconv.Itoa(2*b.seconds), // one report, as perf makes
			"--out", folded)
		return err
	}); err != nil {
		return c, err
	}
	c.whole = r.cpu.Seconds()
	c.recording, c.silent = recordingSeconds(r.stderr)
	c.samples, err = scanFile(folded, countFolded)
	return c, err
}

func (b *bench) runPerf(ctx context.Context, p pipeline, load workload) (c cost, err error) {
	data := filepath.Join(b.dir, "perf.data")
	args := append([]string{"record", "-q", "-F", "999", "-a", "-o", data}, p.callGraph...)
	args = append(args, "--", "sleep", strconv.Itoa(b.seconds))
	if err := load.during(func() error {
		r, err := run(ctx, nil, "perf", args...)
		c.recording = r.cpu.Seconds()
		return err
	}); err != nil {
		return c, err
	}
	script := filepath.Join(b.dir, "perf.script")
	whole, cut, err := b.scriptAndCollapse(ctx, script, data)
	if err != nil {
		return c, err
	}
	c.whole, c.cut = c.recording+whole, cut
	noInline, _, err := b.scriptAndCollapse(ctx, script, data, "--no-inline")
	if err != nil {
		return c, err
	}
	c.noInline = c.recording + noInline
	c.samples, err = scanFile(script, countScript)
	return c, err
}

// scriptAndCollapse returns the CPU seconds from perf.data to folded stacks.
func (b *bench) scriptAndCollapse(ctx context.Context, script, data string, flags ...string) (seconds float64, cut bool, err error) {
	output, err := os.Create(script)
	if err != nil {
		return 0, false, err
	}
	defer output.Close()
	r, cut, err := runAtMost(ctx, b.scriptTimeout, output, "perf", append([]string{"script", "-i", data}, flags...)...)
	if err != nil || b.flameGraph == "" {
		return r.cpu.Seconds(), cut, err
	}
	collapse, err := run(ctx, nil, "perl", filepath.Join(b.flameGraph, "stackcollapse-perf.pl"), script)
	return (r.cpu + collapse.cpu).Seconds(), cut, err
}
