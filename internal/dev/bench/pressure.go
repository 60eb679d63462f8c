package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/engine/pressure"
)

// squeeze is the pressure trigger on the control group of the workload.
const squeeze = "cpu@$place some 100000 2000000"

// reacted has ringtap's reaction times in nanoseconds: from an alarm until its events were
// on, and from the alarm to the first event, which depends on when the program gets to run.
type reacted struct{ on, first int64 }

// reaction returns the measurement of one of the two reaction times, in milliseconds.
// get returns it in nanoseconds.
func reaction(get func(reacted) int64) value {
	return func(_ context.Context, t *turn) (float64, error) {
		r, err := t.reacted()
		return float64(get(r)) / 1e6, err
	}
}

// reacted reads from ringtap's log the times of an alarm and of the first event after it.
func (t *turn) reacted() (reacted, error) {
	said := regexp.MustCompile(`msg=alarm name="[^"]*" at=(\d+) took=(\S+)\n.*msg="first event" at=(\d+)`)
	for _, m := range said.FindAllStringSubmatch(string(t.stderr), -1) {
		told, atErr := strconv.ParseInt(m[1], 10, 64)
		took, tookErr := time.ParseDuration(m[2])
		first, firstErr := strconv.ParseInt(m[3], 10, 64)
		if err := errors.Join(atErr, tookErr, firstErr); err != nil {
			return reacted{}, err
		}
		// The bench's own trigger may have missed ringtap's first alarm.
		for _, alarm := range slices.Backward(t.alarms) {
			if late := first - alarm; late >= 0 && late < int64(time.Second) {
				return reacted{on: told + int64(took) - alarm, first: late}, nil
			}
		}
	}
	return reacted{}, t.running.failed(fmt.Errorf("no event follows one of the %d alarms", len(t.alarms)))
}

// alarms records in t.alarms, for nine seconds, when the trigger fires.
func alarms(ctx context.Context, t *turn) (quantities, error) {
	trigger, err := pressure.Parse(t.expand(squeeze))
	if err != nil {
		return nil, err
	}
	t.alarms, err = alarmsWithin(ctx, trigger, 9*time.Second)
	return nil, err
}

// alarmsWithin returns the times (CLOCK_MONOTONIC, ns) at which a trigger fires within limit.
func alarmsWithin(ctx context.Context, trigger pressure.Trigger, limit time.Duration) (alarms []int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	m, err := pressure.Open(trigger)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		return nil, err
	}
	if unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0) == nil {
		defer unix.SchedSetAttr(0, before, 0)
	}
	for m.Wait(ctx) == nil {
		alarms = append(alarms, int64(monotonic()))
	}
	return alarms, nil
}
