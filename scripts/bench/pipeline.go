package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"
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
	samples          uint64
	cut              bool // perf script did not get to its end
}

// pipeline alternates the two tools and returns the row of the whole way and
// the row of recording alone.
func (b *bench) pipeline(ctx context.Context, p pipeline) ([]row, error) {
	load, err := b.newWorkload(ctx, p.programs...)
	if err != nil {
		return nil, err
	}
	whole := row{what: p.name + ": CPU to folded stacks", unit: "s", most: p.most}
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
		alone.own, alone.peer = append(alone.own, own.recording), append(alone.peer, peer.recording)
		if peer.cut {
			cuts++
		}
	}
	whole.note = fmt.Sprintf("in the last run %d samples by ringtap, %d by perf", own.samples, peer.samples)
	if cuts > 0 {
		whole.note += fmt.Sprintf("; perf script was stopped after %v in %d of %d runs, so perf's true figure and samples are higher",
			b.scriptTimeout, cuts, b.runs)
	}
	return []row{whole, alone}, err
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
	if c.recording, err = recordingSeconds(r.stderr); err != nil {
		return c, err
	}
	c.samples, err = scanFile(folded, countFolded)
	return c, err
}

func (b *bench) runPerf(ctx context.Context, p pipeline, load workload) (c cost, err error) {
	data, script := filepath.Join(b.dir, "perf.data"), filepath.Join(b.dir, "perf.script")
	args := append([]string{"record", "-q", "-F", "999", "-a", "-o", data}, p.callGraph...)
	args = append(args, "--", "sleep", strconv.Itoa(b.seconds))
	if err := load.during(func() error {
		r, err := run(ctx, nil, "perf", args...)
		c.recording = r.cpu.Seconds()
		return err
	}); err != nil {
		return c, err
	}
	output, err := os.Create(script)
	if err != nil {
		return c, err
	}
	defer output.Close()
	r, cut, err := runAtMost(ctx, b.scriptTimeout, output, "perf", "script", "-i", data)
	if err != nil {
		return c, err
	}
	c.cut = cut
	c.whole = c.recording + r.cpu.Seconds()
	if b.flameGraph != "" {
		r, err := run(ctx, nil, "perl", filepath.Join(b.flameGraph, "stackcollapse-perf.pl"), script)
		if err != nil {
			return c, err
		}
		c.whole += r.cpu.Seconds()
	}
	c.samples, err = scanFile(script, countScript)
	return c, err
}

// recordingDone is the line that ringtap -v logs between recording and report.
var recordingDone = regexp.MustCompile(`"recording done".* user=(\S+) system=(\S+)`)

// recordingSeconds returns the CPU seconds up to the end of the recording.
func recordingSeconds(log []byte) (float64, error) {
	m := recordingDone.FindSubmatch(log)
	if m == nil {
		return 0, errors.New("ringtap -v does not say what recording took (\"recording done\" user= system=)")
	}
	var sum time.Duration
	for _, text := range m[1:] {
		d, err := time.ParseDuration(string(text))
		if err != nil {
			return 0, fmt.Errorf("what ringtap's recording took: %w", err)
		}
		sum += d
	}
	return sum.Seconds(), nil
}

func scanFile(path string, count func(io.Reader) (uint64, error)) (uint64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	n, err := count(f)
	if err != nil {
		return 0, fmt.Errorf("count the samples of %s: %w", path, err)
	}
	return n, nil
}

// countFolded adds up the values of folded stacks.
func countFolded(r io.Reader) (sum uint64, err error) {
	err = eachLine(r, func(line []byte) error {
		n, err := strconv.ParseUint(string(line[bytes.LastIndexByte(line, ' ')+1:]), 10, 64)
		sum += n
		return err
	})
	return sum, err
}

// countScript counts the samples of perf script: lines that are not indented
// head one sample each.
func countScript(r io.Reader) (n uint64, err error) {
	err = eachLine(r, func(line []byte) error {
		if line[0] != '\t' && line[0] != ' ' && line[0] != '#' {
			n++
		}
		return nil
	})
	return n, err
}

// eachLine calls f for every line that is not empty.
func eachLine(r io.Reader, f func(line []byte) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		if err := f(lines.Bytes()); err != nil {
			return err
		}
	}
	return lines.Err()
}
