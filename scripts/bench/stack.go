package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

//go:embed testdata/threads.c
var threadsSource []byte

// The sizes of the processes that are looked at.
const (
	manyThreads    = 10_000
	manyGoroutines = 100_000
)

// stack measures how long a look at a process with many threads takes, beside gdb's,
// what the process loses by it, and a look at a process with many goroutines.
func (b *bench) stack(ctx context.Context) ([]row, error) {
	threads, err := b.stackThreads(ctx)
	goroutines, err2 := b.stackGoroutines(ctx)
	return append(threads, goroutines...), errors.Join(err, err2)
}

func (b *bench) stackThreads(ctx context.Context) ([]row, error) {
	source, program := filepath.Join(b.dir, "threads.c"), filepath.Join(b.dir, "threads")
	if err := os.WriteFile(source, threadsSource, 0o600); err != nil {
		return nil, err
	}
	if _, err := run(ctx, nil, "gcc", "-O2", "-pthread", "-o", program, source); err != nil {
		return nil, err
	}
	process, err := startPartner(ctx, program, strconv.Itoa(manyThreads), strconv.Itoa(runtime.NumCPU()-1))
	if err != nil {
		return nil, err
	}
	defer process.stop()
	looked := looked{process}
	pid := strconv.Itoa(process.cmd.Process.Pid)
	took := row{what: fmt.Sprintf("a look at %d threads", manyThreads), unit: "s"}
	slowed := row{what: "the process's own speed, looked at all the time, of that alone", unit: "", most: 1.01}
	var gdb []float64
	for range b.runs {
		one, err := seconds(ctx, b.ringtap, "stack", pid)
		if err != nil {
			return nil, err
		}
		took.own = append(took.own, one)
		if missing("gdb") == "" {
			if one, err = seconds(ctx, "gdb", "-nx", "-p", pid, "-batch", "-ex", "thread apply all bt"); err != nil {
				return nil, err
			}
			gdb = append(gdb, one)
		}
		alone, err := looked.speed(func() error { time.Sleep(2 * time.Second); return nil })
		if err != nil {
			return nil, err
		}
		during, err := looked.speed(func() error {
			// On the other CPUs: what is measured is what a look costs the process.
			_, err := run(ctx, nil, "taskset", "-c", fmt.Sprintf("0-%d", max(runtime.NumCPU()-2, 0)), b.ringtap, "stack", pid)
			return err
		})
		if err != nil {
			return nil, err
		}
		slowed.own = append(slowed.own, alone/during)
	}
	return []row{took.against("gdb", missing("gdb"), gdb, 0.1), slowed}, nil
}

func (b *bench) stackGoroutines(ctx context.Context) ([]row, error) {
	program := filepath.Join(b.dir, "goroutines")
	if _, err := run(ctx, nil, "go", "build", "-o", program, "./scripts/bench/testdata/goroutines"); err != nil {
		return nil, err
	}
	looked, err := startPartner(ctx, program, strconv.Itoa(manyGoroutines))
	if err != nil {
		return nil, err
	}
	defer looked.stop()
	if _, err := looked.out.ReadString('\n'); err != nil {
		return nil, err
	}
	took := row{what: fmt.Sprintf("a look at %d goroutines", manyGoroutines), unit: "s", most: 2}
	peak := row{what: "the same: peak memory", unit: "MiB", most: 256}
	for range b.runs {
		begin := time.Now()
		r, err := run(ctx, nil, b.ringtap, "stack", strconv.Itoa(looked.cmd.Process.Pid))
		if err != nil {
			return nil, err
		}
		took.own = append(took.own, time.Since(begin).Seconds())
		peak.own = append(peak.own, float64(r.peak)/(1<<20))
	}
	return []row{took, peak}, nil
}

// seconds is how long a command takes.
func seconds(ctx context.Context, name string, args ...string) (float64, error) {
	begin := time.Now()
	_, err := run(ctx, nil, name, args...)
	return time.Since(begin).Seconds(), err
}

// looked is a process that is looked at.
type looked struct{ *partner }

// speed is how much the process counts in a nanosecond of its CPU time while f runs.
func (l looked) speed(f func() error) (float64, error) {
	count, used, err := l.ask()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, usedAfter, err := l.ask()
	return (after - count) / (usedAfter - used), err
}

// ask returns what the process has counted, and the CPU time of that in nanoseconds.
func (l looked) ask() (count, used float64, err error) {
	if _, err := io.WriteString(l.in, "\n"); err != nil {
		return 0, 0, err
	}
	line, err := l.out.ReadString('\n')
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(line)
	if len(fields) != 2 {
		return 0, 0, fmt.Errorf("the process says %q", line)
	}
	count, err = strconv.ParseFloat(fields[0], 64)
	used, err2 := strconv.ParseFloat(fields[1], 64)
	return count, used, errors.Join(err, err2)
}
