package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// clockArgument makes this program a command that says when it got to its main function.
const clockArgument = "print-the-clock"

var clock = regexp.MustCompile(`(?m)^clock=(\d+)$`)

func printClock() { fmt.Printf("clock=%d\n", monotonic()) }

// untilClock adds the milliseconds from the start of the tool to the clock that its
// command prints.
func (s *session) untilClock(ctx context.Context, t tool) error {
	before := monotonic()
	r, err := s.run(ctx, t.line)
	if err != nil {
		return err
	}
	at, err := firstNumber(r.stdout, clock)
	s.add(t, "", (at-float64(before))/1e6)
	return err
}

// toTheEnd adds what a tool takes that ends by itself.
func (s *session) toTheEnd(ctx context.Context, t tool) error {
	r, err := s.run(ctx, t.line)
	if err != nil {
		return err
	}
	s.add(t, "", r.took.Seconds())
	s.add(t, "peak", float64(r.peak)/(1<<20))
	return nil
}

// benchmarks adds the figures of Go's benchmarks, by "NAME: UNIT", and the peak memory
// of the process.
func (s *session) benchmarks(ctx context.Context, t tool) error {
	r, err := s.run(ctx, t.line)
	if err != nil {
		return err
	}
	s.add(t, "peak", float64(r.peak)/(1<<20))
	for line := range bytes.Lines(r.stdout) {
		for name, value := range benchmarkValues(string(line)) {
			s.add(tool{name: name}, "", value)
		}
	}
	return nil
}

// benchmarkValues reads one line of go test -bench,
//
//	BenchmarkUnwind/libc-2   1000000   31.5 ns/frame   0 B/op   0 allocs/op
//
// and returns the values by "Unwind/libc: ns/frame".
func benchmarkValues(line string) map[string]float64 {
	fields := strings.Fields(line)
	if len(fields) < 4 {
		return nil
	}
	name, ok := strings.CutPrefix(fields[0], "Benchmark")
	if !ok {
		return nil
	}
	if i := strings.LastIndexByte(name, '-'); i > 0 {
		name = name[:i] // GOMAXPROCS
	}
	values := map[string]float64{}
	for i := 2; i+1 < len(fields); i += 2 {
		if value, err := strconv.ParseFloat(fields[i], 64); err == nil {
			values[name+": "+fields[i+1]] = value
		}
	}
	return values
}

// ddSeconds is what dd(1) says of the time that its ddCalls calls took.
var ddSeconds = regexp.MustCompile(`copied, ([0-9.e+-]+) s`)

const (
	dd      = "$dd if=/dev/zero of=/dev/null bs=512 count=100000"
	ddCalls = 2 * 100_000
)

// ddCall returns the nanoseconds of a call of dd.
func (s *session) ddCall(ctx context.Context, line string) (quantities, error) {
	r, err := s.run(ctx, line)
	if err != nil {
		return nil, err
	}
	seconds, err := firstNumber(r.stderr, ddSeconds)
	return quantities{"": seconds * 1e9 / ddCalls}, err
}

func ddAlone(s *session, ctx context.Context) (quantities, error) { return s.ddCall(ctx, dd) }

// ddUnder adds what a tool that has started dd adds to each call.
func (s *session) ddUnder(ctx context.Context, t tool) error {
	with, err := s.ddCall(ctx, t.line)
	if err == nil {
		s.addBeyond(t, with)
	}
	return err
}

// whileItRuns runs f while a tool does, and returns what the tool used to its end.
// Tools get three seconds to start; bpftrace compiles.
func (s *session) whileItRuns(ctx context.Context, t tool, f func() error) (result, error) {
	running, err := s.launch(ctx, nil, t)
	if err != nil {
		return result{}, err
	}
	select {
	case <-time.After(3 * time.Second):
		err = f()
	case <-running.done.Done():
		err = errors.New("it has ended")
	}
	r, ended := running.stop()
	return r, errors.Join(err, ended)
}

// slower adds what an operation takes longer while a tool runs than before and after
// that.
func (s *session) slower(ctx context.Context, t tool) error {
	var during quantities
	if _, err := s.whileItRuns(ctx, t, func() (err error) {
		during, err = s.operate(s, ctx)
		return err
	}); err != nil && during == nil { // bpftrace may take minutes to print its stacks, and is killed
		return err
	}
	after, err := s.operate(s, ctx)
	if err != nil {
		return err
	}
	for quantity, value := range during {
		s.add(t, quantity, value-(s.base[quantity]+after[quantity])/2)
	}
	s.base = after
	return nil
}

var usecsPerOp = regexp.MustCompile(`([0-9.]+) usecs/op`)

// pipe sends messages there and back between two processes.
func pipe(ctx context.Context, messages int) (result, error) {
	return run(ctx, nil, "perf", "bench", "sched", "pipe", "-l", strconv.Itoa(messages))
}

// pipeOperation returns the microseconds of a message, elapsed and of CPU time. What a
// busy machine does meanwhile is not in the latter.
func pipeOperation(_ *session, ctx context.Context) (quantities, error) {
	const messages = 100_000
	r, err := pipe(ctx, messages)
	if err != nil {
		return nil, err
	}
	elapsed, err := firstNumber(r.stdout, usecsPerOp)
	return quantities{"": elapsed, "CPU": r.cpu.Seconds() * 1e6 / messages}, err
}

var tps = regexp.MustCompile(`tps = ([0-9.]+)`)

// transaction returns the microseconds that a transaction of four clients takes of
// the server's time: what they all do in a second, turned round.
func transaction(s *session, ctx context.Context) (quantities, error) {
	r, err := s.run(ctx, "runuser -u postgres -- $pgbench -h $socket -n -S -c 4 -T 5 postgres")
	if err != nil {
		return nil, err
	}
	rate, err := firstNumber(r.stdout, tps)
	return quantities{"": 1e6 / rate}, err
}

// speed adds the process's own speed, of that while it is looked at.
func (s *session) speed(ctx context.Context, t tool) error {
	alone, err := s.counts(func() error { time.Sleep(2 * time.Second); return nil })
	if err != nil {
		return err
	}
	during, err := s.counts(func() error { _, err := s.run(ctx, t.line); return err })
	s.add(t, "", alone/during)
	return err
}

// counts is how much the process counts in a nanosecond of its CPU time while f runs.
func (s *session) counts(f func() error) (float64, error) {
	var count, used [2]float64
	ask := func(i int) error {
		if err := s.program.say(""); err != nil {
			return err
		}
		line, err := s.program.answer()
		if err != nil {
			return err
		}
		_, err = fmt.Sscan(line, &count[i], &used[i])
		return err
	}
	err := ask(0)
	if err == nil {
		err = f()
	}
	if err == nil {
		err = ask(1)
	}
	return (count[1] - count[0]) / (used[1] - used[0]), err
}
