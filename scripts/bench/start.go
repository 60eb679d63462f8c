package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// clockArgument makes this program the command that the tools start: it says
// when it got to its main function.
const clockArgument = "print-the-clock"

const clockPrefix = "clock="

func printClock() { fmt.Printf("%s%d\n", clockPrefix, monotonic()) }

// monotonic is CLOCK_MONOTONIC, the clock that two processes share.
func monotonic() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0 // clock_gettime(2) knows no error for this clock
	}
	return time.Duration(now.Nano())
}

// start measures how long either tool takes from being spawned to its command
// running with events armed. It is short, so it runs more often.
func (b *bench) start(ctx context.Context) ([]row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r := row{what: "start to first armed event", unit: "ms", most: 1}
	for range 4 * b.runs {
		own, err := untilClock(ctx, b.ringtap, "on-cpu", "-f", "999",
			"--out", filepath.Join(b.dir, "start.folded"), "--", self, clockArgument)
		if err != nil {
			return []row{r}, err
		}
		peer, err := untilClock(ctx, "perf", "record", "-q", "-F", "999", "-g",
			"-o", filepath.Join(b.dir, "start.data"), "--", self, clockArgument)
		if err != nil {
			return []row{r}, err
		}
		r.own, r.peer = append(r.own, own), append(r.peer, peer)
	}
	return []row{r}, nil
}

// untilClock returns the milliseconds from spawning the tool to the clock that
// its command prints.
func untilClock(ctx context.Context, tool string, args ...string) (float64, error) {
	before := monotonic()
	r, err := run(ctx, nil, tool, args...)
	if err != nil {
		return 0, err
	}
	clock, err := findClock(r.stdout)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", tool, err)
	}
	return float64(clock-before) / 1e6, nil
}

func findClock(output []byte) (time.Duration, error) {
	for line := range bytes.Lines(output) {
		text, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte(clockPrefix))
		if !ok {
			continue
		}
		n, err := strconv.ParseInt(string(text), 10, 64)
		return time.Duration(n), err
	}
	return 0, errors.New("its command did not print the clock")
}
