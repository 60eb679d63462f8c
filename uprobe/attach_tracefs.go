package uprobe

import (
	"fmt"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
)

func attachTracefs(p *Plan, o AttachOptions) (*Attachment, error) {
	probes := make([]ftrace.Probe, len(p.Sites))
	for i := range p.Sites {
		s := &p.Sites[i]
		args, err := s.kernelArgs()
		if err != nil {
			return nil, err
		}
		probes[i] = ftrace.Probe{Event: s.Event, Place: s.place(), Return: s.Return, Args: args}
	}
	set, err := ftrace.DefineProbes(probes, ftrace.ProbeOptions{Tracefs: o.Tracefs, File: "uprobe_events",
		Filter: o.Filter, Merge: o.Merge, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	a := &Attachment{Formats: set.Formats, Filter: o.Filter, group: set.Group, merged: set.Merged}
	for _, f := range set.Formats {
		a.Events = append(a.Events, perfevent.Tracepoint(uint64(f.ID), f.System+":"+f.Name))
	}
	return a, nil
}

// place returns the site in the kernel's syntax.
func (s *Site) place() string {
	if s.RefCtr != 0 {
		return fmt.Sprintf("%s:%#x(%#x)", s.KernelPath, s.Offset, s.RefCtr)
	}
	return fmt.Sprintf("%s:%#x", s.KernelPath, s.Offset)
}

// Close removes the events. The perf session that has them open must be closed first.
func (a *Attachment) Close() error {
	if a.group == nil {
		return nil
	}
	return a.group.Close()
}
