package main

import (
	"context"

	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/uprobe"
)

// countUser counts calls of user functions.
func (c *countFlags) countUser(ctx context.Context, out *console, spec string) error {
	logger := out.logger(c.verbose)
	plan, err := resolve(out, "p:"+spec, uprobe.Options{PID: c.pid, MaxSites: c.limit, Logger: logger})
	if err != nil {
		return err
	}
	defer plan.Close()
	target := c.target()
	attachment, err := uprobe.Attach(plan, uprobe.AttachOptions{Target: target, Few: target.PerSampling(), Merge: len(plan.Sites) > manyPlaces, Logger: logger})
	if err != nil {
		return wrongDefinition(err)
	}
	defer closing(out, attachment)
	counters, err := perfevent.OpenCounters(target, attachment.Events, perfevent.Options{Logger: logger})
	if err != nil {
		return err
	}
	defer counters.Close()
	if err := counters.Enable(); err != nil {
		return err
	}
	if err := c.greet(out, spec, several(len(plan.Sites), "function")); err != nil {
		return err
	}
	n := &counting{counters: counters, hits: counters.Read}
	for _, site := range plan.Sites {
		n.names = append(n.names, site.Symbol)
	}
	if attachment.Merged() {
		n.hits = attachment.Hits
	}
	return c.watch(ctx, out, n)
}
