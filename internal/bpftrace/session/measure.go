package session

import (
	"bytes"
	"context"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// benchTime is the minimum duration of a bench probe, the same as in bpftrace.
const benchTime = time.Millisecond

// measure runs the test or bench probes, between the begin and end probes.
func (s *session) measure(ctx context.Context) (int, error) {
	start := time.Duration(clock(unix.CLOCK_MONOTONIC))
	s.machine.Start(uint64(start))
	s.fire(s.points.begin, start)
	code := 0
	if s.opts.Test {
		code = s.test(ctx)
	} else {
		s.bench(ctx)
	}
	_, err := s.finish()
	return code, err
}

// test runs the test probes. A test fails if it returns a value other than 0, calls exit with such
// a code, or reports an error. Its output is printed only if it fails.
func (s *session) test(ctx context.Context) (code int) {
	all := pointNames(s.points.tests)
	passed := make([]bool, len(all))
	for i, p := range s.points.tests {
		if ctx.Err() != nil {
			break
		}
		var printed bytes.Buffer
		s.errors = 0
		restore := s.printer.Capture(&printed)
		began := time.Now()
		s.machine.Hit(p.clause, s.hit(p, time.Duration(clock(unix.CLOCK_MONOTONIC))))
		took := time.Since(began)
		restore()
		exit, _ := s.machine.Exited()
		passed[i] = s.machine.Result() == 0 && exit == 0 && s.errors == 0
		if !passed[i] {
			code = failed
		}
		s.machine.Resume()
		s.printer.Test(all, passed[:i+1], took, printed.String())
	}
	return code
}

// bench measures the bench probes. Their output is dropped.
func (s *session) bench(ctx context.Context) {
	all := pointNames(s.points.benches)
	for i, p := range s.points.benches {
		restore := s.printer.Capture(nil)
		rounds, took := 1, time.Duration(0)
		for ctx.Err() == nil {
			began := time.Now()
			for range rounds {
				s.machine.Hit(p.clause, s.hit(p, time.Duration(clock(unix.CLOCK_MONOTONIC))))
			}
			if took = time.Since(began); took >= benchTime || s.machine.Result() != 0 {
				break
			}
			rounds *= 2
		}
		restore()
		s.machine.Resume()
		s.printer.Benchmark(all, i, took/time.Duration(rounds), rounds)
	}
}

// pointNames returns the names of test or bench probes.
func pointNames(points []point) []string {
	var all []string
	for _, p := range points {
		_, name, _ := strings.Cut(p.text, ":")
		all = append(all, name)
	}
	return all
}
