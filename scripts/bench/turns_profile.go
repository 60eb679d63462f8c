package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// profile adds the CPU seconds of a profile of the busy machine: to folded stacks, and
// of the recording alone. perf script looks up inlined functions where there is debug
// information, which ringtap does only when asked, so perf's way without that counts too.
func (s *session) profile(ctx context.Context, t tool) error {
	var r result
	if err := s.profiled.during(func() (err error) {
		r, err = s.run(ctx, t.line)
		return err
	}); err != nil {
		return err
	}
	if !t.script {
		alone, err := recordingSeconds(r.stderr)
		samples, err2 := s.count(t.count, r)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		s.add(t, "", r.cpu.Seconds())
		s.add(t, "recording", alone)
		s.Notes[t.name] = fmt.Sprintf("in the last run %d samples by %s", samples, t.name)
		return nil
	}
	p, err := s.perfScript(ctx, t)
	if err != nil {
		return err
	}
	noInline, err := s.perfScript(ctx, t, "--no-inline")
	if err != nil {
		return err
	}
	s.add(t, "", r.cpu.Seconds()+p.seconds)
	s.add(t, "--no-inline", r.cpu.Seconds()+noInline.seconds)
	s.add(t, "recording", r.cpu.Seconds())
	s.Notes[t.name] = fmt.Sprintf("%d by %s", noInline.samples, t.name) + s.stopped(t)
	return nil
}

// printed is what perf script made of a recording.
type printed struct {
	seconds float64 // of CPU time, to folded stacks
	samples uint64
}

// perfScript reads the recording of a tool as perf does. What takes longer than
// --script-timeout is stopped.
func (s *session) perfScript(ctx context.Context, t tool, flags ...string) (p printed, err error) {
	script := filepath.Join(s.dir, "perf.script")
	output, err := os.Create(script)
	if err != nil {
		return p, err
	}
	defer output.Close()
	r, cut, err := runAtMost(ctx, s.scriptTimeout, output, "perf", append([]string{"script", "-i", s.vars["out"]}, flags...)...)
	if err != nil {
		return p, err
	}
	if cut && len(flags) == 0 {
		s.add(t, "stopped", 1)
	}
	p.seconds = r.cpu.Seconds()
	if s.flameGraph != "" {
		if r, err = run(ctx, nil, "perl", filepath.Join(s.flameGraph, "stackcollapse-perf.pl"), script); err != nil {
			return p, err
		}
		p.seconds += r.cpu.Seconds()
	}
	p.samples, err = countFile(script, regexp.MustCompile(scripted.pattern))
	return p, err
}

// stopped says in how many runs perf script of a tool was stopped.
func (s *session) stopped(t tool) string {
	n := len(s.Values[t.name+": stopped"])
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; perf script was stopped after %v in %d of %d runs, so perf's true figure is higher", s.scriptTimeout, n, s.runs)
}

// receivedOf is what ringtap says of the switches that it has, and of those that it lost.
var receivedOf = regexp.MustCompile(`\d+ samples received(, \d+ lost)?`)

// millionSwitches adds the CPU seconds of a tool from a million switches to folded
// stacks. A tool's start and its report are not seven times what they are.
func (s *session) millionSwitches(ctx context.Context, t tool) error {
	r, err := s.whileItRuns(ctx, t, func() error { _, err := pipe(ctx, 500_000); return err })
	if err != nil {
		return err
	}
	if !t.script {
		s.Notes[t.name] = fmt.Sprintf("in the last run %s has %s", t.name, receivedOf.Find(r.stderr))
		s.add(t, "", r.cpu.Seconds())
		return nil
	}
	p, err := s.perfScript(ctx, t)
	if err == nil {
		s.add(t, "", r.cpu.Seconds()+p.seconds)
		s.Notes[t.name] = fmt.Sprintf("perf script printed %d", p.samples) + s.stopped(t)
	}
	return err
}
