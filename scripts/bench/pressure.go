package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/internal/pressure"
)

// squeeze is the trigger of the alarms, of the group of the workload.
const squeeze = "cpu@$place some 100000 2000000"

// reacted is what ringtap says of an alarm and the first event after it.
var reacted = regexp.MustCompile(`msg=alarm name="[^"]*" at=(\d+) took=(\S+)\n.*msg="first event" at=(\d+)`)

// reaction adds the milliseconds from an alarm until events are on, and to the first:
// that depends on when the program is let run.
func (s *session) reaction(ctx context.Context, t tool) error {
	trigger, err := pressure.Parse(s.expand(squeeze))
	if err != nil {
		return err
	}
	tool, err := s.launch(ctx, nil, t)
	if err != nil {
		return err
	}
	alarms, err := alarmsWithin(ctx, trigger, 9*time.Second)
	_, ended := tool.stop()
	if err := errors.Join(err, ended); err != nil {
		return err
	}
	for _, m := range reacted.FindAllStringSubmatch(tool.stderr.String(), -1) {
		told, atErr := strconv.ParseInt(m[1], 10, 64)
		took, tookErr := time.ParseDuration(m[2])
		first, firstErr := strconv.ParseInt(m[3], 10, 64)
		if err := errors.Join(atErr, tookErr, firstErr); err != nil {
			return err
		}
		// Of ringtap's first alarm the trigger of the bench may not know.
		for i := len(alarms) - 1; i >= 0; i-- {
			if late := first - alarms[i]; late >= 0 && late < int64(time.Second) {
				s.add(t, "on", float64(told+int64(took)-alarms[i])/1e6)
				s.add(t, "first", float64(late)/1e6)
				return nil
			}
		}
	}
	return tool.failed(fmt.Errorf("no event follows one of the %d alarms", len(alarms)))
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
