package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// settle is how long a tool is left alone once its probe is in place: the
// instruction is replaced before the events count. All takes longer in a guest.
func (s *session) settle() time.Duration {
	if s.kernel != "" {
		return 2 * time.Second
	}
	return 500 * time.Millisecond
}

// removeInstance removes the tracing instance of a trace_pipe, which nobody may read
// any more.
func removeInstance(s *session, _ int) error {
	instance := filepath.Join(s.vars["tracefs"], "instances", s.vars["group"])
	return poll(context.Background(), 5*time.Second, 10*time.Millisecond, func() (bool, error) {
		err := os.Remove(instance)
		return err == nil || errors.Is(err, fs.ErrNotExist), nil
	}, "the tracing instance "+instance+" can't be removed")
}

// threeRounds are the medians of three rounds.
func threeRounds(f func() (quantities, error)) (quantities, error) {
	each := map[string][]float64{}
	for range 3 {
		one, err := f()
		if err != nil {
			return nil, err
		}
		for quantity, value := range one {
			each[quantity] = append(each[quantity], value)
		}
	}
	medians := quantities{}
	for quantity, values := range each {
		medians[quantity] = median(values)
	}
	return medians, nil
}

// mallocFree is a round of calls of malloc and free: the nanoseconds of one of each.
func mallocFree(s *session, ctx context.Context) (quantities, error) {
	if err := s.program.await(ctx, false); err != nil {
		return nil, err
	}
	return s.mallocFree(s.hits)
}

func (s *session) mallocFree(calls int) (quantities, error) {
	return threeRounds(func() (quantities, error) {
		took, err := s.program.run(calls)
		return quantities{"": took}, err
	})
}

// perHit adds the nanoseconds that a tool adds to each call.
func (s *session) perHit(ctx context.Context, t tool) error {
	var with quantities
	_, err := s.underProbe(ctx, t, func() (err error) {
		with, err = s.mallocFree(max(1, s.hits/max(1, t.slower)))
		return err
	})
	if err == nil {
		s.addBeyond(t, with)
	}
	return err
}

// underProbe runs f while a tool has its probe in place, on another CPU than the
// hits', and returns what the tool used from its start to its end.
func (s *session) underProbe(ctx context.Context, t tool, f func() error) (result, error) {
	t.line = "taskset -c 0 " + t.line
	return s.traced(ctx, t, s.program.await, f)
}

// traced runs f from when a tool's probe has come, and returns when it is gone.
func (s *session) traced(ctx context.Context, t tool, await func(context.Context, bool) error, f func() error) (_ result, err error) {
	tool, err := s.launch(ctx, nil, t)
	if err != nil {
		return result{}, err
	}
	defer func() { err = errors.Join(err, t.cleaned(s, tool)) }()
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(tool.done, cancel)()
	err = await(waiting, true)
	if err == nil {
		select {
		case <-time.After(s.settle()):
			err = f()
		case <-waiting.Done():
			err = waiting.Err()
		}
	}
	r, ended := tool.stop()
	switch {
	case ended != nil:
		return r, ended
	case err != nil:
		return r, tool.failed(err)
	}
	return r, await(ctx, false)
}

// counted returns how many of the calls a tool has counted that others do not make.
func (s *session) counted(t tool, r result, calls int) (uint64, error) {
	n, err := s.count(t.count, r)
	if err == nil && n > uint64(calls) {
		err = fmt.Errorf("%d of %d calls were counted", n, calls)
	}
	return n, err
}

// atFullSpeed returns what a tool used while the program called at full speed.
func (s *session) atFullSpeed(ctx context.Context, t tool, calls int) (result, error) {
	return s.underProbe(ctx, t, func() error { _, err := s.program.run(calls); return err })
}

// lost adds how many of the calls at full speed a tool does not have in the end.
func (s *session) lost(ctx context.Context, t tool) error {
	calls := 10 * s.hits
	r, err := s.atFullSpeed(ctx, t, calls)
	if err != nil {
		return err
	}
	n, err := s.counted(t, r, calls)
	s.add(t, "", float64(uint64(calls)-n))
	return err
}

// perMillion adds the CPU seconds from a tool's start to stacks, for a million of the
// hits that it has: of recording for each sample recorded, of perf script for each
// sample printed. So neither what perf has lost nor --script-timeout favors it.
func (s *session) perMillion(ctx context.Context, t tool) error {
	r, err := s.atFullSpeed(ctx, t, 2*s.hits)
	if err != nil {
		return err
	}
	n, err := s.count(t.count, r)
	seconds := r.cpu.Seconds() / float64(n)
	if err == nil && t.script {
		var p printed
		p, err = s.perfScript(ctx, t)
		seconds += p.seconds / float64(p.samples)
	}
	s.add(t, "", seconds*1e6)
	return err
}

// untilCounted adds the milliseconds from spawning a tracer to the first call of a64l
// that it counts. Nobody else calls that, and the program calls it every 100 µs and
// knows when. A tool that counted n calls in the end counted the last n, so the time
// of the first of those is when it was ready.
func (s *session) untilCounted(ctx context.Context, t tool) (err error) {
	output, err := os.Create(s.vars["out"])
	if err != nil {
		return err
	}
	defer output.Close()
	if err := s.program.await(ctx, false); err != nil {
		return err
	}
	if err := s.program.say("tick"); err != nil {
		return err
	}
	before := monotonic()
	tool, err := s.launch(ctx, output, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.cleaned(s, tool)) }()
	calls, err := s.program.ticks(tool)
	time.Sleep(s.settle()) // its output comes later than its hits
	r, ended := tool.stop()
	if err := errors.Join(err, ended); err != nil {
		return err
	}
	n, err := s.counted(t, r, int(calls))
	if err != nil {
		return tool.failed(err)
	}
	first, err := s.program.at(calls - n)
	s.add(t, "", float64(first-before)/1e6)
	return err
}
