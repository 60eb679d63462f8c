package main

import (
	"github.com/ringtap/ringtap/internal/measure"
	"github.com/ringtap/ringtap/internal/questions/calls"
	"github.com/ringtap/ringtap/perfevent"
)

// attachCalls probes the entries and the returns of functions.
func (h *histFlags) attachCalls(out *console, s *histSubject, spec *histSpec, target perfevent.Target) error {
	c := &callProbes{out: out, logger: out.logger(h.verbose), target: target,
		uprobe: h.uprobeOptions(out), kprobe: h.kprobeOptions(out), userStacks: h.user}
	attach := c.user
	if spec.place == inKernel {
		attach = c.kernel
	}
	err := attach(spec.probe)
	s.kprobes, s.closers = c.kprobes, append(s.closers, c.closers...)
	if err != nil {
		return err
	}
	c.sayUntimed()
	s.functions, s.atEntry = c.functions, c.atEntry
	if len(s.functions) == 1 && spec.place == inUser {
		s.functions[0] = spec.text
	}
	for i := range c.events {
		e := &c.events[i]
		m := measure.Event{Event: e.Event, Filter: e.Filter, Function: e.Function, Site: e.Site}
		if e.Role == calls.CallEnds {
			m.Role = measure.Return
		}
		s.events = append(s.events, m)
	}
	return nil
}
