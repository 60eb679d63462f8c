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

	"github.com/ringtap/ringtap/internal/pressure"
)

// squeeze is the trigger of the alarms, of the group of the workload.
const squeeze = "cpu@$place some 100000 2000000"

// reacted is what ringtap did after an alarm: nanoseconds until its events were on, and
// to the first, which depends on when the program is let run.
type reacted struct{ on, first int64 }

// reaction is one of the two, in milliseconds.
func reaction(of func(reacted) int64) value {
	return func(_ context.Context, t *turn) (float64, error) {
		r, err := t.reacted()
		return float64(of(r)) / 1e6, err
	}
}

// reacted reads what ringtap says of an alarm and the first event after it.
func (t *turn) reacted() (reacted, error) {
	said := regexp.MustCompile(`msg=alarm name="[^"]*" at=(\d+) took=(\S+)\n.*msg="first event" at=(\d+)`)
	for _, m := range said.FindAllStringSubmatch(string(t.stderr), -1) {
		told, atErr := strconv.ParseInt(m[1], 10, 64)
		took, tookErr := time.ParseDuration(m[2])
		first, firstErr := strconv.ParseInt(m[3], 10, 64)
		if err := errors.Join(atErr, tookErr, firstErr); err != nil {
			return reacted{}, err
		}
		// Of ringtap's first alarm the trigger of the bench may not know.
		for _, alarm := range slices.Backward(t.alarms) {
			if late := first - alarm; late >= 0 && late < int64(time.Second) {
				return reacted{on: told + int64(took) - alarm, first: late}, nil
			}
		}
	}
	return reacted{}, t.running.failed(fmt.Errorf("no event follows one of the %d alarms", len(t.alarms)))
}

// alarms notes for nine seconds when the kernel says that the trigger has fired.
func alarms(ctx context.Context, t *turn) (quantities, error) {
	trigger, err := pressure.Parse(t.expand(squeeze))
	if err != nil {
		return nil, err
	}
	t.alarms, err = alarmsWithin(ctx, trigger, 9*time.Second)
	return nil, err
}

// alarmsWithin notes when the kernel says that a trigger has fired.
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
