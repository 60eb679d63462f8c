// Package dynevent makes perf events of probes that tracefs defines: what
// packages uprobe and kprobe have in common of it.
package dynevent

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
)

// Probe is one place.
type Probe struct {
	Event     string // its name
	Place     string // in the grammar of the file
	Return    bool
	Args      []ftrace.FetchArg
	MaxActive int // see ftrace.Dynamic
}

// dynamic is the probe as the kernel takes it.
func (p *Probe) dynamic() ftrace.Dynamic {
	words := make([]string, len(p.Args))
	for i, a := range p.Args {
		words[i] = a.String()
	}
	d := ftrace.Dynamic{Type: 'p', Event: p.Event, Place: p.Place, Args: strings.Join(words, " "), MaxActive: p.MaxActive}
	if p.Return {
		d.Type = 'r'
	}
	return d
}

// fields says what the records of a probe hold. Those of probes with the same
// fields can be of one event.
func (p *Probe) fields() string {
	words := []string{fmt.Sprint(p.Return)}
	for _, a := range p.Args {
		words = append(words, a.Name+":"+a.Type)
	}
	return strings.Join(words, " ")
}

// Options say how probes are defined.
type Options struct {
	Tracefs *ftrace.FS // nil: the mounted one; if there is none it is mounted, and stays
	File    string     // "uprobe_events" or "kprobe_events"
	Filter  string     // that is tried on the events; "" for none
	// Merge lets probes with the same fields share an event, which is named as
	// the first of them, where the kernel can do it (Linux 5.4).
	Merge  bool
	Logger *slog.Logger
}

// Set is probes that the kernel knows.
type Set struct {
	Events  []perfevent.Event // one for each probe, in their order, unless merged
	Formats []*ftrace.Format  // of the events' records
	Group   *ftrace.Group     // that has them, to be closed after the perf events
	Merged  bool
}

// Define defines an event for each probe. After an error nothing stays defined;
// it is a *ftrace.FilterError if the filter is wrong, or a *ftrace.DefinitionError
// if the kernel does not take a probe.
func Define(probes []Probe, o Options) (*Set, error) {
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
	group, err := tracefs.NewGroup(o.File)
	if err != nil {
		return nil, err
	}
	s := &Set{Group: group}
	if err := s.define(tracefs, probes, o.Filter, o.Merge && tracefs.AddsPlaces()); err != nil {
		if closeErr := group.Close(); closeErr != nil {
			o.Logger.Warn("events stay defined", "group", group.Name(), "error", closeErr)
		}
		return nil, err
	}
	return s, nil
}

// define defines an event for each probe, or with merge for each kind of record
// that there is. Of those that have the same fields the first tries the filter.
func (s *Set) define(tracefs *ftrace.FS, probes []Probe, filter string, merge bool) error {
	tried := make(map[string]bool)
	merged := make(map[string]string) // by fields, the event that has them
	for i := range probes {
		p := &probes[i]
		d := p.dynamic()
		fields := p.fields()
		if event := merged[fields]; merge && event != "" {
			d.Event = event
			if err := s.Group.Add(d); err != nil {
				return fmt.Errorf("probe %s: %w", p.Event, err)
			}
			s.Merged = true
			continue
		}
		id, err := s.Group.Define(d)
		if err != nil {
			return fmt.Errorf("probe %s: %w", p.Event, err)
		}
		merged[fields] = p.Event
		if filter != "" && !tried[fields] {
			if err := tracefs.ExplainFilter(s.Group.Name(), p.Event, filter); err != nil {
				return fmt.Errorf("filter of %s: %w", p.Event, err)
			}
			tried[fields] = true
		}
		format, err := tracefs.Format(s.Group.Name(), p.Event)
		if err != nil {
			return fmt.Errorf("probe %s: %w", p.Event, err)
		}
		s.Events = append(s.Events, perfevent.Tracepoint(id, s.Group.Name()+":"+p.Event))
		s.Formats = append(s.Formats, format)
	}
	return nil
}

// IsMissing tells whether an error says that tracefs, or its file of events,
// can't be had, and not that the kernel dislikes what was written to it.
func IsMissing(err error) bool {
	if refused := (*ftrace.DefinitionError)(nil); errors.As(err, &refused) {
		return errors.Is(err, fs.ErrPermission) // lockdown
	}
	if wrong := (*ftrace.FilterError)(nil); errors.As(err, &wrong) {
		return false
	}
	return errors.Is(err, ftrace.ErrNotMounted) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist)
}
