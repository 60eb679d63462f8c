package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// Values of what a tool used, with all processes that it waited for.
func cpu(_ context.Context, t *turn) (float64, error)  { return t.cpu.Seconds(), nil }
func took(_ context.Context, t *turn) (float64, error) { return t.took.Seconds(), nil }
func peak(_ context.Context, t *turn) (float64, error) { return float64(t.peak) / (1 << 20), nil } // MiB

// ending returns the seconds from Ctrl-C to the tool's end.
func ending(_ context.Context, t *turn) (float64, error) { return t.ending.Seconds(), nil }

// after returns a value: by how many seconds a tool took longer than the seconds it was told to run.
func after(seconds float64) value {
	return func(_ context.Context, t *turn) (float64, error) { return t.took.Seconds() - seconds, nil }
}

// during returns a reading of a quantity that was measured under the tool.
func during(quantity string) reading {
	return reading{quantity, func(_ context.Context, t *turn) (float64, error) { return t.with[quantity], nil }}
}

// beyond returns a reading of the increase of a quantity by the tool.
func beyond(quantity string) reading {
	return reading{quantity, func(_ context.Context, t *turn) (float64, error) {
		return t.with[quantity] - t.base[quantity], nil
	}}
}

// slowdown returns the ratio of the main quantity with the tool to that without it.
func slowdown(_ context.Context, t *turn) (float64, error) { return t.with[""] / t.base[""], nil }

// figure returns a value: the first number that a pattern finds in the tool's output, times unit.
func figure(pattern string, unit float64) value {
	return func(_ context.Context, t *turn) (float64, error) {
		v, err := firstNumber(t.stdout, regexp.MustCompile(pattern))
		return v * unit, err
	}
}

// benchmark returns the pattern for a metric in the output of go test -bench:
//
//	BenchmarkUnwind/libc-2   1000000   31.5 ns/frame   0 B/op   0 allocs/op
func benchmark(name, metric string) string {
	return `(?m)^Benchmark` + regexp.QuoteMeta(name) + `(?:-\d+)?\s.*\s([0-9.e+-]+) ` + regexp.QuoteMeta(metric) + `(?:\s|$)`
}

// sizeOf returns a value: how many KiB a file of the tool's has.
func sizeOf(name string) value {
	return func(_ context.Context, t *turn) (float64, error) {
		info, err := os.Stat(filepath.Join(t.dir, name))
		if err != nil {
			return 0, err
		}
		return float64(info.Size()) / (1 << 10), nil
	}
}

// untilClock returns the milliseconds from the start of the tool to the time that its
// command prints: see clockArgument.
func untilClock(_ context.Context, t *turn) (float64, error) {
	at, err := firstNumber(t.stdout, regexp.MustCompile(clock))
	return (at - float64(t.began)) / 1e6, err
}

// recorded returns the CPU seconds of ringtap's recording alone.
func recorded(_ context.Context, t *turn) (float64, error) { return recordingSeconds(t.stderr) }

// folds returns and notes how many samples are in the folded stacks. If there are none, it is an error.
func folds(_ context.Context, t *turn) (float64, error) {
	n, err := t.counted()
	t.note("in the last run %d samples by %s", n, t.tool.name)
	return float64(n), err
}

// received returns how many events ringtap received, and notes also how many it lost.
func received(_ context.Context, t *turn) (float64, error) {
	samples := regexp.MustCompile(`(\d+) samples received(?:, \d+ lost)?`)
	t.note("in the last run %s has %s", t.tool.name, samples.Find(t.stderr))
	return firstNumber(t.stderr, samples)
}

// counted returns how many hits a tool counted. If the number of calls is known, a higher count
// is an error.
func (t *turn) counted() (uint64, error) {
	n, err := t.count(t.tool.count, t.result)
	if calls, ok := t.with["calls"]; ok && err == nil && n > uint64(calls) {
		err = fmt.Errorf("%d of %.0f calls were counted", n, calls)
	}
	return n, err
}

// lost returns how many of the calls the tool did not count.
func lost(_ context.Context, t *turn) (float64, error) {
	n, err := t.counted()
	return t.with["calls"] - float64(n), err
}

// firstCounted returns the milliseconds from the start of a tracer to the first call that it
// counts. The program knows the time of each call. If a tool counted n calls, these are the
// last n, so it was ready at the first of them.
func firstCounted(_ context.Context, t *turn) (float64, error) {
	n, err := t.counted()
	if err != nil {
		return 0, t.running.failed(err)
	}
	first, err := t.program.at(uint64(t.with["calls"]) - n)
	return float64(first-t.began) / 1e6, err
}

// printed is the result of perf script for a recording.
type printed struct {
	seconds float64 // of CPU time, to folded stacks
	samples uint64
}

// perfScript runs perf script on the recording of a tool, with these flags, and then
// stackcollapse-perf.pl, if it is there. It stops perf script after --script-timeout.
func (t *turn) perfScript(ctx context.Context, flags ...string) (p printed, err error) {
	script := filepath.Join(t.dir, "perf.script")
	output, err := os.Create(script)
	if err != nil {
		return p, err
	}
	defer output.Close()
	r, cut, err := runAtMost(ctx, t.scriptTimeout, output, "perf", append([]string{"script", "-i", t.vars["out"]}, flags...)...)
	if err != nil {
		return p, err
	}
	if cut && len(flags) == 0 {
		t.add("stopped", 1)
	}
	p.seconds = r.cpu.Seconds()
	if t.flameGraph != "" {
		if r, err = run(ctx, nil, "perl", filepath.Join(t.flameGraph, "stackcollapse-perf.pl"), script); err != nil {
			return p, err
		}
		p.seconds += r.cpu.Seconds()
	}
	p.samples, err = countFile(script, regexp.MustCompile(scripted.pattern))
	return p, err
}

// scriptedCPU returns a value: the CPU seconds of a recording and of perf script after it. If there
// is debug information, perf script looks up inlined functions, which ringtap does only on request.
// So there is also a reading with --no-inline.
func scriptedCPU(flags ...string) value {
	return func(ctx context.Context, t *turn) (float64, error) {
		p, err := t.perfScript(ctx, flags...)
		stopped := ""
		if n := len(t.Values[t.tool.name+": stopped"]); n > 0 {
			stopped = fmt.Sprintf("; perf script was stopped after %v in %d of %d runs, so perf's true figure is higher", t.scriptTimeout, n, t.runs)
		}
		t.note("%d by %s%s", p.samples, t.tool.name, stopped)
		return t.cpu.Seconds() + p.seconds, err
	}
}

// perMillion returns the CPU seconds from a tool's start to stacks, per million hits that
// it counted.
func perMillion(_ context.Context, t *turn) (float64, error) {
	n, err := t.count(t.tool.count, t.result)
	return t.cpu.Seconds() / float64(n) * 1e6, err
}

// scriptedPerMillion is perMillion for perf. It adds the recording's time per recorded sample
// and perf script's time per printed sample. So neither lost samples nor --script-timeout favor perf.
func scriptedPerMillion(ctx context.Context, t *turn) (float64, error) {
	recording, err := perMillion(ctx, t)
	if err != nil {
		return 0, err
	}
	p, err := t.perfScript(ctx)
	return recording + p.seconds/float64(p.samples)*1e6, err
}

// shellTimes is the pattern for a time that the shell command times prints: "0m0.120000s".
const shellTimes = `(\d+)m([\d.]+)s`

// missed returns in percent how far the CPU time by samples is from the true CPU time. The
// command, a shell, prints the true time of itself and its children at its end.
func missed(ctx context.Context, t *turn) (float64, error) {
	const hertz = 999
	used := time.Duration(0)
	for _, m := range regexp.MustCompile(shellTimes).FindAllSubmatch(t.stdout, -1) {
		d, err := time.ParseDuration(string(m[1]) + "m" + string(m[2]) + "s")
		if err != nil {
			return 0, err
		}
		used += d
	}
	if used == 0 {
		return 0, fmt.Errorf("no times in %q", lastLines(t.stdout, 5))
	}
	samples, err := t.samples(ctx)
	sampled := time.Duration(samples) * time.Second / hertz
	t.note("in the last run %v of %v by %s", sampled.Round(time.Millisecond), used, t.tool.name)
	return 100 * math.Abs(1-sampled.Seconds()/used.Seconds()), err
}

// samples returns how many samples a tool has. If the tool has no counter, it counts the samples that
// perf script prints.
func (t *turn) samples(ctx context.Context) (uint64, error) {
	if t.tool.count.pattern != "" {
		return t.counted()
	}
	p, err := t.perfScript(ctx, "--no-inline")
	return p.samples, err
}

// unnamed returns the percentage of samples whose leaf has no name.
func unnamed(_ context.Context, t *turn) (float64, error) {
	all, err := t.counted()
	none, err2 := t.count(foldedUnnamed, t.result)
	if errors.Is(err2, errNoLine) {
		none, err2 = 0, nil
	}
	t.note("in the last run %d of %d samples", none, all)
	return 100 * float64(none) / float64(all), errors.Join(err, err2)
}
