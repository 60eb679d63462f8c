package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/kprobe"
	"github.com/ringtap/ringtap/perfevent"
)

// countEvents counts by perf events, or where places share one by what the kernel
// counts at each.
func (c *countFlags) countEvents(ctx context.Context, out *console, spec *probe.Spec, thing string) error {
	options := probe.Options{Target: c.target(), View: viewOf(c.pid, 0), Limit: c.limit, PMU: spec.Place == probe.User,
		Counts: true, Way: kprobe.WayKprobeEvents, Logger: out.logger(c.verbose)}
	if spec.Place == probe.Kernel && c.pid != 0 {
		options.Sharing = probe.ShareNone // the kernel counts everyone's hits
	}
	set, err := probe.Open(spec, options)
	if spec.Place != probe.Kernel {
		printNotes(out, set.Notes)
	}
	if err != nil {
		return wrongSpec(err)
	}
	defer closing(out, set)
	for _, name := range set.Functions {
		if strings.HasPrefix(name, "sched:sched_stat_") {
			fmt.Fprintf(out.stderr, "note: %s counts the nanoseconds that its hits are about\n", name)
		}
	}
	n := &counting{set: set}
	closeAll, err := c.openCounters(out, n, spec.Place != probe.User)
	if err != nil {
		return err
	}
	defer closeAll()
	options.Logger.Debug("counting by events", "functions", len(set.Functions), "shared", set.Shared())
	if err := c.greet(out, spec.Text, several(len(set.Functions), thing)); err != nil {
		return err
	}
	return errors.Join(c.watch(ctx, out, n), printMissed(out, set))
}

// fewOwn is for how many events our own hits are counted too, to be left out.
const fewOwn = 32

// openCounters opens counters of the events on the target, and if own hits are to be
// left out of the whole system's also on ourselves.
func (c *countFlags) openCounters(out *console, n *counting, leaveOutOwn bool) (closeAll func(), err error) {
	var events []perfevent.Event
	for i := range n.set.Sources {
		events = append(events, n.set.Sources[i].Event)
	}
	var opened []*perfevent.Counters
	closeAll = func() {
		for _, counters := range opened {
			counters.Close()
		}
	}
	open := func(target perfevent.Target) (*perfevent.Counters, error) {
		counters, err := perfevent.OpenCounters(target, events, perfevent.Options{Logger: out.logger(c.verbose)})
		if err != nil {
			return nil, err
		}
		opened = append(opened, counters)
		return counters, nil
	}
	n.counters, err = open(c.target())
	// Of a shared event our own hits are one number for all places.
	if err == nil && leaveOutOwn && !n.set.Shared() && c.pid == 0 && len(events) <= fewOwn {
		n.own, err = open(perfevent.Process(os.Getpid()))
	}
	for _, counters := range opened {
		if err == nil {
			err = counters.Enable()
		}
	}
	if err != nil {
		closeAll()
		return nil, err
	}
	return closeAll, nil
}
