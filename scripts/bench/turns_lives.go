package main

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"time"
)

// shellTimes is a time as the shell's times prints it: "0m0.120000s".
var shellTimes = regexp.MustCompile(`(\d+)m([\d.]+)s`)

// shortLives adds how far the CPU time that the samples of a command stand for is from
// what the command, a shell, says of itself and its children at its end, in percent.
func (s *session) shortLives(ctx context.Context, t tool) error {
	const hertz = 999
	r, err := s.run(ctx, t.line)
	if err != nil {
		return err
	}
	used := time.Duration(0)
	for _, m := range shellTimes.FindAllSubmatch(r.stdout, -1) {
		d, err := time.ParseDuration(string(m[1]) + "m" + string(m[2]) + "s")
		if err != nil {
			return err
		}
		used += d
	}
	if used == 0 {
		return fmt.Errorf("no times in %q", lastLines(r.stdout, 5))
	}
	var samples uint64
	if t.script {
		p, err := s.perfScript(ctx, t, "--no-inline")
		if err != nil {
			return err
		}
		samples = p.samples
	} else if samples, err = s.count(t.count, r); err != nil {
		return err
	}
	sampled := time.Duration(samples) * time.Second / hertz
	s.add(t, "", 100*math.Abs(1-sampled.Seconds()/used.Seconds()))
	s.Notes[t.name] = fmt.Sprintf("in the last run %v of %v by %s", sampled.Round(time.Millisecond), used, t.name)
	return nil
}
