package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
)

var durationFlag = regexp.MustCompile(` -d (\d+)\b`)

// shortRun adds the CPU seconds of a run to its end, how long after its duration it
// ends, and its peak memory.
func (s *session) shortRun(ctx context.Context, t tool) error {
	seconds := 0.0
	if d := durationFlag.FindStringSubmatch(t.line); d != nil {
		seconds, _ = strconv.ParseFloat(d[1], 64)
	} else {
		return fmt.Errorf("%s: no duration", t.line)
	}
	r, err := s.run(ctx, t.line)
	if err != nil {
		return err
	}
	s.add(t, "CPU", r.cpu.Seconds())
	s.add(t, "after", r.took.Seconds()-seconds)
	s.add(t, "peak", float64(r.peak)/(1<<20))
	return nil
}
