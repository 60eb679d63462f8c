package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// inProcess is one figure that a package's own benchmark yields.
type inProcess struct {
	what    string
	pkg     string
	pattern string  // of -bench
	metric  string  // as the benchmark reports it
	scale   float64 // metric's unit in the row's
	unit    string
	most    float64
}

var inProcesses = []inProcess{
	{"unwinding one frame, warm", "./callchain", "^BenchmarkUnwind", "ns/frame", 1, "ns", 50},
	{"unwinding, allocations", "./callchain", "^BenchmarkUnwind", "allocs/op", 1, "", 0},
	{"decoding a sample of 20 frames", "./perfevent", "^BenchmarkDecode", "ns/op", 1, "ns", 60},
	{"decoding, allocations", "./perfevent", "^BenchmarkDecode", "allocs/op", 1, "", 0},
	{"compiling libc's .eh_frame", "./callchain", "^BenchmarkCompileLibc", "ns/op", 1e-6, "ms", 5},
	{"its table", "./callchain", "^BenchmarkCompileLibc", "table-B", 1. / 1024, "KiB", 256},
}

// inner runs the benchmarks of the packages, each once for all its figures.
func (b *bench) inner(ctx context.Context) ([]row, error) {
	outputs := map[string][]byte{}
	var rows []row
	for _, p := range inProcesses {
		output, ok := outputs[p.pkg+p.pattern]
		if !ok {
			r, err := run(ctx, nil, "go", "test", "-run=^$", "-bench="+p.pattern, "-benchmem",
				"-count="+strconv.Itoa(b.runs), p.pkg)
			if err != nil {
				return rows, err
			}
			output = r.stdout
			outputs[p.pkg+p.pattern] = output
		}
		more := p.rows(output)
		if len(more) == 0 {
			more = []row{{what: p.what, unit: p.unit, most: p.most,
				note: fmt.Sprintf("no benchmark of %s that matches %s reports %s", p.pkg, p.pattern, p.metric)}}
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// rows makes a row of each benchmark in go test's output that reports the
// metric.
func (p inProcess) rows(output []byte) []row {
	var rows []row
	for line := range bytes.Lines(output) {
		name, value, ok := benchmarkValue(string(line), p.metric)
		if !ok {
			continue
		}
		what := p.what + " (" + name + ")"
		i := slices.IndexFunc(rows, func(r row) bool { return r.what == what })
		if i < 0 {
			i = len(rows)
			rows = append(rows, row{what: what, unit: p.unit, most: p.most})
		}
		rows[i].own = append(rows[i].own, value*p.scale)
	}
	return rows
}

// benchmarkValue reads one line of go test -bench,
//
//	BenchmarkUnwind/libc-2   1000000   31.5 ns/frame   0 B/op   0 allocs/op
//
// and returns the benchmark's name and the value of the metric.
func benchmarkValue(line, metric string) (name string, value float64, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 {
		return "", 0, false
	}
	name, ok = strings.CutPrefix(fields[0], "Benchmark")
	if !ok {
		return "", 0, false
	}
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		name = name[:i] // GOMAXPROCS
	}
	for i := 2; i+1 < len(fields); i += 2 {
		if fields[i+1] == metric {
			value, err := strconv.ParseFloat(fields[i], 64)
			return name, value, err == nil
		}
	}
	return "", 0, false
}

// memory replays an hour's profile in a process of its own, whose peak the
// kernel tells. The benchmark itself says by how much its heap grew after the
// last new stack.
func (b *bench) memory(ctx context.Context) ([]row, error) {
	peak := row{what: "replay of 4 million samples: peak memory", unit: "MiB", most: 128}
	growth := inProcess{what: "replay: growth once all stacks are known", metric: "late-growth-MiB", scale: 1, unit: "MiB", most: 1}
	binary := filepath.Join(b.dir, "table.test")
	if _, err := run(ctx, nil, "go", "test", "-c", "-o", binary, "./internal/table"); err != nil {
		return nil, err
	}
	var outputs []byte
	for range b.runs {
		r, err := run(ctx, nil, binary, "-test.run=^$", "-test.bench=^BenchmarkReplay$", "-test.benchtime=1x")
		if err != nil {
			return nil, err
		}
		if _, _, ok := benchmarkValue(benchmarkLine(r.stdout), "ns/op"); !ok {
			peak.note = "internal/table has no BenchmarkReplay"
			return []row{peak}, nil
		}
		peak.own = append(peak.own, float64(r.peak)/(1<<20))
		outputs = append(outputs, r.stdout...)
	}
	return append([]row{peak}, growth.rows(outputs)...), nil
}

func benchmarkLine(output []byte) string {
	for line := range bytes.Lines(output) {
		if bytes.HasPrefix(line, []byte("Benchmark")) {
			return string(line)
		}
	}
	return ""
}
