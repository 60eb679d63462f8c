package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
)

// countTracepoints counts hits of tracepoints.
func (c *countFlags) countTracepoints(ctx context.Context, out *console, pattern string) error {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	chosen, err := chooseTracepoints(tracefs, pattern)
	if err != nil {
		return err
	}
	for _, name := range chosen {
		if name.System == "sched" && strings.HasPrefix(name.Name, "sched_stat_") {
			fmt.Fprintf(out.stderr, "note: %s counts the nanoseconds that its hits are about\n", name)
		}
	}
	var events []perfevent.Event
	n := &counting{}
	for _, name := range chosen {
		id, err := tracefs.EventID(name.System, name.Name)
		if err != nil {
			return err
		}
		events = append(events, perfevent.Tracepoint(id, name.String()))
		n.names = append(n.names, name.String())
	}
	closeAll, err := c.openCounters(out, n, events, true)
	if err != nil {
		return err
	}
	defer closeAll()
	n.hits = n.counters.Read
	if err := c.greet(out, "t:"+pattern, several(len(events), "tracepoint")); err != nil {
		return err
	}
	return c.watch(ctx, out, n)
}
