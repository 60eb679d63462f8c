package main

import (
	"errors"
	"slices"

	"github.com/ringtap/ringtap/internal/pair"
	"github.com/ringtap/ringtap/internal/questions/calls"
	"github.com/ringtap/ringtap/kprobe"
)

// kernel probes the entries and the returns of kernel functions.
func (c *callProbes) kernel(definition string) error {
	entry, leave, err := kernelCalls(c.out, definition, c.kprobe)
	if err != nil {
		return err
	}
	merge := c.count && len(entry.Sites) > manyPlaces
	for _, plan := range []*kprobe.Plan{entry, leave} {
		attachment, err := kprobe.Attach(plan, kprobe.AttachOptions{Target: c.target, UserStacks: c.userStacks, Merge: merge, Logger: c.logger})
		var none *kprobe.WayError
		if c.count && plan == leave && errors.As(err, &none) {
			c.whyUntimed = err.Error()
			for i := range c.events {
				c.events[i].Role = calls.CallHit
			}
			for i := range entry.Sites {
				c.untimed = append(c.untimed, entry.Sites[i].Function.String())
			}
			return nil
		}
		if err != nil {
			return wrongDefinition(err)
		}
		c.kprobes = append(c.kprobes, attachment)
		c.closers = append(c.closers, attachment.Close)
		for i, event := range attachment.Events {
			e := calls.CallEvent{Event: event, Filter: attachment.Filter, Site: pair.Site{Kernel: true}}
			if !merge {
				e.Function = c.number(plan.Sites[i].Function.String())
			}
			if plan == leave {
				e.Role, e.Site.Return = calls.CallEnds, true
			}
			c.events = append(c.events, e)
		}
	}
	return nil
}

// kernelCalls finds the entries and the returns of kernel functions, which are the
// same places.
func kernelCalls(out *console, definition string, options kprobe.Options) (entry, leave *kprobe.Plan, err error) {
	if entry, err = resolveKernel(out, "p:"+definition, options); err != nil {
		return nil, nil, err
	}
	parsed, err := kprobe.Parse("r:" + definition)
	if err != nil {
		return nil, nil, &usageError{err}
	}
	leave = &kprobe.Plan{Definition: parsed, Sites: slices.Clone(entry.Sites)}
	for i := range leave.Sites {
		leave.Sites[i].Return = true
	}
	return entry, leave, nil
}
