package uprobe

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
)

func attachTracefs(p *Plan, o AttachOptions) (*Attachment, error) {
	tracefs := o.Tracefs
	if tracefs == nil {
		var mounted bool
		var err error
		if tracefs, mounted, err = ftrace.Mount(); err != nil {
			return nil, err
		}
		if mounted {
			// It stays: another tracer may use it by the time this one ends.
			o.Logger.Info("tracefs was not mounted and now is", "at", tracefs.Dir())
		}
	}
	group, err := tracefs.NewGroup("uprobe_events")
	if err != nil {
		return nil, err
	}
	a := &Attachment{Filter: o.Filter, group: group}
	if err := a.define(tracefs, p, o.Merge && tracefs.AddsPlaces()); err != nil {
		if closeErr := group.Close(); closeErr != nil {
			o.Logger.Warn("events stay defined", "group", group.Name(), "error", closeErr)
		}
		return nil, err
	}
	return a, nil
}

// define defines an event for each site, or with merge for each kind of record
// that there is. Of those that have the same fields the first tries the filter.
func (a *Attachment) define(tracefs *ftrace.FS, p *Plan, merge bool) error {
	tried := make(map[string]bool)
	merged := make(map[string]string) // by fields, the event that has them
	for i := range p.Sites {
		s := &p.Sites[i]
		d := s.dynamic()
		fields := s.fields()
		if event := merged[fields]; merge && event != "" {
			d.Event = event
			if err := a.group.Add(d); err != nil {
				return fmt.Errorf("probe %s: %w", s.Event, err)
			}
			a.merged = true
			continue
		}
		id, err := a.group.Define(d)
		if err != nil {
			return fmt.Errorf("probe %s: %w", s.Event, err)
		}
		merged[fields] = s.Event
		if a.Filter != "" && !tried[fields] {
			if err := tracefs.ExplainFilter(a.group.Name(), s.Event, a.Filter); err != nil {
				return fmt.Errorf("filter of %s: %w", s.Event, err)
			}
			tried[fields] = true
		}
		format, err := tracefs.Format(a.group.Name(), s.Event)
		if err != nil {
			return fmt.Errorf("probe %s: %w", s.Event, err)
		}
		a.Events = append(a.Events, perfevent.Tracepoint(id, a.group.Name()+":"+s.Event))
		a.Formats = append(a.Formats, format)
	}
	return nil
}

// dynamic is the site as the kernel takes it.
func (s *Site) dynamic() ftrace.Dynamic {
	words := make([]string, len(s.Args))
	for i, a := range s.Args {
		words[i] = a.String()
	}
	d := ftrace.Dynamic{Type: 'p', Event: s.Event, Place: s.place(), Args: strings.Join(words, " ")}
	if s.Return {
		d.Type = 'r'
	}
	return d
}

// fields says what the records of a site hold. Those of sites with the same
// fields can be of one event.
func (s *Site) fields() string {
	words := []string{fmt.Sprint(s.Return)}
	for _, a := range s.Args {
		words = append(words, a.Name+":"+a.Type)
	}
	return strings.Join(words, " ")
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
