package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
)

// missingError says why a workload cannot run.
type missingError string

func (e missingError) Error() string { return string(e) }

// measure runs the measurement on this machine. A tool that fails gets no more turns, but
// the other tools do.
func (b *bench) measure(ctx context.Context, m measurement) (_ outcome, err error) {
	s := b.newSession(m)
	defer func() {
		for _, f := range slices.Backward(s.undo) {
			err = errors.Join(err, f())
		}
	}()
	if err := s.load(ctx); err != nil {
		return s.outcome, err
	}
	var tools []tool
	for _, t := range m.tools {
		if why := s.whyMissing(ctx, t); why != "" {
			s.Missing[t.name] = why
			continue
		}
		tools = append(tools, t)
	}
	var failed []error
	for range b.runs * max(1, m.times) {
		if m.alone != nil {
			if s.base, err = m.alone(ctx, &turn{session: s}); err != nil {
				return s.outcome, errors.Join(append(failed, err)...)
			}
		}
		tools = slices.DeleteFunc(tools, func(t tool) bool {
			err := s.turn(ctx, t)
			if err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", t.name, err))
			}
			return err != nil
		})
	}
	return s.outcome, errors.Join(failed...)
}

// load starts the workload.
func (s *session) load(ctx context.Context) (err error) {
	if s.busy != nil {
		s.profiled, err = s.newWorkload(ctx, s.busy...)
		return err
	}
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	s.vars["tracefs"] = tracefs.Dir()
	if slices.ContainsFunc(s.tools, func(t tool) bool { return strings.Contains(t.line, "$perftools") }) {
		if err := s.mountDebugfs(); err != nil {
			return err
		}
	}
	if s.workload == "" {
		return nil
	}
	if s.program, err = startProgram(s.dir, s.expand(s.workload)); err != nil {
		return err
	}
	s.cleanUp(s.program.stop)
	if why, ok := strings.CutPrefix(s.program.first, "missing: "); ok {
		return missingError(why)
	}
	s.vars["pid"] = strconv.Itoa(s.program.cmd.Process.Pid)
	for _, word := range strings.Fields(s.program.first) {
		name, value, _ := strings.Cut(word, "=")
		s.vars[name] = value
	}
	if s.probe == "" || missing("perf") != "" {
		return nil
	}
	if _, err = s.run(ctx, "perf probe -q "+s.probe); err != nil {
		return err
	}
	s.cleanUp(func() error {
		_, err := s.run(context.Background(), "perf probe -q -d $event") // even if ctx has ended
		return err
	})
	return nil
}

// whyMissing returns why a tool can't run, or "" if it can.
func (s *session) whyMissing(ctx context.Context, t tool) string {
	if s.perfTools == "" && strings.Contains(t.line, "$perftools") {
		return "PERF_TOOLS_DIR is not set"
	}
	if why := missing(s.args(t.line)[0]); why != "" {
		return why
	}
	if t.try == "" {
		return ""
	}
	if why := missing(s.args(t.try)[0]); why != "" {
		return why
	}
	if _, err := s.run(ctx, t.try); err != nil {
		return s.args(t.try)[0] + " does not work with this kernel"
	}
	return ""
}

// missing returns why a program can't run, or "" if it can.
func missing(program string) string {
	if _, err := exec.LookPath(program); err != nil {
		return program + " is not installed"
	}
	return ""
}
