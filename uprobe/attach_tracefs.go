package uprobe

import (
	"fmt"

	"github.com/ringtap/ringtap/internal/dynevent"
)

func attachTracefs(p *Plan, o AttachOptions) (*Attachment, error) {
	probes := make([]dynevent.Probe, len(p.Sites))
	for i := range p.Sites {
		s := &p.Sites[i]
		probes[i] = dynevent.Probe{Event: s.Event, Place: s.place(), Return: s.Return, Args: s.Args}
	}
	set, err := dynevent.Define(probes, dynevent.Options{Tracefs: o.Tracefs, File: "uprobe_events",
		Filter: o.Filter, Merge: o.Merge, Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	return &Attachment{Events: set.Events, Formats: set.Formats, Filter: o.Filter, group: set.Group, merged: set.Merged}, nil
}

// place is where the site is, in the kernel's grammar.
func (s *Site) place() string {
	if s.RefCtr != 0 {
		return fmt.Sprintf("%s:%#x(%#x)", s.KernelPath, s.Offset, s.RefCtr)
	}
	return fmt.Sprintf("%s:%#x", s.KernelPath, s.Offset)
}

// Close removes the events. The perf session that has them open must be closed
// before.
func (a *Attachment) Close() error {
	if a.group == nil {
		return nil
	}
	return a.group.Close()
}
