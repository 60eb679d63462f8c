package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// readZero is a round of reads: the nanoseconds of one of the thread's own time, and of
// elapsed time.
func readZero(s *session, _ context.Context) (quantities, error) {
	return threeRounds(func() (quantities, error) {
		own, elapsed, err := s.program.read(s.hits)
		return quantities{"": own, "elapsed": elapsed}, err
	})
}

// perRead adds what a tool that traces a function of the kernel adds to a call of
// read(2) on /dev/zero, and how many of the calls it does not have in the end.
func perRead(function string) func(*session, context.Context, tool) error {
	return func(s *session, ctx context.Context, t tool) error {
		await := func(ctx context.Context, want bool) error {
			return poll(ctx, 2*time.Minute, 200*time.Millisecond, func() (bool, error) {
				n, err := s.patched(function)
				return (n > 0) == want, err
			}, "no function has come to be traced, or to be left, within two minutes")
		}
		var with quantities
		r, err := s.traced(ctx, t, await, func() (err error) {
			with, err = readZero(s, ctx)
			return err
		})
		if err != nil {
			return err
		}
		s.addBeyond(t, with)
		if t.count.pattern == "" {
			return nil
		}
		calls := 3 * s.hits
		n, err := s.counted(t, r, calls)
		if err == nil {
			s.add(t, "lost", float64(uint64(calls)-n))
		}
		return err
	}
}

// attach adds the seconds that a tool takes to trace functions of the kernel, as
// nearly as one may ask without being in the way, to leave them again, and how many
// they are. There is none more to come when none has for five seconds.
func (s *session) attach(ctx context.Context, t tool) error {
	before, err := s.patched("")
	if err != nil {
		return err
	}
	start := monotonic()
	tool, err := s.launch(ctx, nil, t)
	if err != nil {
		return err
	}
	functions, armed := 0, start
	err = poll(ctx, 5*time.Minute, 200*time.Millisecond, func() (bool, error) {
		now := monotonic()
		n, err := s.patched("")
		if n-before > functions {
			functions, armed = n-before, now
		}
		if tool.done.Err() != nil {
			err = fmt.Errorf("it has ended with %d functions armed", functions)
		}
		return functions > 0 && now-armed > 5*time.Second, err
	}, "functions have come to be traced for five minutes")
	stop := monotonic()
	_, ended := tool.stop()
	if err := errors.Join(err, ended); err != nil {
		return tool.failed(err)
	}
	s.add(t, "armed", (armed - start).Seconds())
	s.add(t, "end", (monotonic() - stop).Seconds())
	s.add(t, "functions", float64(functions))
	return nil
}

// patched counts the functions of the kernel that call a tracer or a probe at
// their entry, of this name or, with "", of any: the kernel's own list, whichever
// tool set them.
func (s *session) patched(function string) (n int, err error) {
	text, err := os.ReadFile(filepath.Join(s.vars["tracefs"], "enabled_functions"))
	for line := range strings.Lines(string(text)) {
		if name, _, _ := strings.Cut(line, " "); function == "" || name == function {
			n++
		}
	}
	return n, err
}
