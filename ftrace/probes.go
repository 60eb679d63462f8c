package ftrace

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"strings"

	"github.com/ringtap/ringtap/internal/text/escape"
)

// Probe is one place to probe.
type Probe struct {
	Event     string // name of the event
	Place     string // see Dynamic
	Return    bool
	Args      []FetchArg
	MaxActive int // see Dynamic
}

// dynamic returns the probe's definition for the kernel.
func (p *Probe) dynamic() Dynamic {
	words := make([]string, len(p.Args))
	for i, a := range p.Args {
		words[i] = a.String()
	}
	d := Dynamic{Type: 'p', Event: p.Event, Place: p.Place, Args: strings.Join(words, " "), MaxActive: p.MaxActive}
	if p.Return {
		d.Type = 'r'
	}
	return d
}

// fields returns a key for the layout of a probe's records. Probes with the same key can share
// an event.
func (p *Probe) fields() string {
	words := []string{fmt.Sprint(p.Return)}
	for _, a := range p.Args {
		words = append(words, fmt.Sprint(a.Name, ":", a.Type, a.Signed, a.Length))
	}
	return strings.Join(words, " ")
}

// ProbeOptions are the options of DefineProbes.
type ProbeOptions struct {
	Tracefs *FS    // nil: the mounted one; if there is none, it is mounted and stays mounted
	File    string // "uprobe_events" or "kprobe_events"
	Filter  string // tested on the events; "" for none
	// Merge lets probes with the same fields share an event if the kernel supports it (see
	// FS.AddsPlaces). The event is named after the first of them.
	Merge  bool
	Logger *slog.Logger // nil discards
}

// Probes are probes that are defined in the kernel.
type Probes struct {
	Formats []*Format // one for each probe, in order, unless merged
	Group   *Group    // the events' group; close it after their perf events
	Merged  bool      // some probes share an event
}

// DefineProbes defines an event for each probe. On an error, nothing stays defined. The error
// is a *FilterError if the filter is wrong, and a *DefinitionError if the kernel rejects a
// probe. See IsUnavailable for other errors.
func DefineProbes(probes []Probe, o ProbeOptions) (*Probes, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Tracefs == nil {
		tracefs, mounted, err := Mount()
		if err != nil {
			return nil, err
		}
		if mounted {
			// It stays mounted: another tracer may use it by the time this process ends.
			o.Logger.Info("tracefs was not mounted and now is", "at", tracefs.Dir())
		}
		o.Tracefs = tracefs
	}
	group, err := o.Tracefs.NewGroup(o.File)
	if err != nil {
		return nil, err
	}
	s := &Probes{Group: group}
	if err := s.define(probes, &o); err != nil {
		if closeErr := group.Close(); closeErr != nil {
			o.Logger.Warn("events stay defined", "group", group.Name(), "error", closeErr)
		}
		return nil, err
	}
	return s, nil
}

// define defines an event for each probe or, if merged, for each record layout. The filter is
// tested on the first event of each layout.
func (s *Probes) define(probes []Probe, o *ProbeOptions) error {
	merge := o.Merge && o.Tracefs.AddsPlaces()
	known := make(map[string]string) // the first event of each layout
	for i := range probes {
		p := &probes[i]
		d := p.dynamic()
		first := known[p.fields()]
		if merge && first != "" {
			d.Event = first
			if err := s.Group.Add(d); err != nil {
				return fmt.Errorf("probe %s: %w", p.Event, err)
			}
			s.Merged = true
			continue
		}
		if _, err := s.Group.Define(d); err != nil {
			return fmt.Errorf("probe %s: %w", p.Event, err)
		}
		known[p.fields()] = p.Event
		if o.Filter != "" && first == "" {
			if err := o.Tracefs.ExplainFilter(s.Group.Name(), p.Event, o.Filter); err != nil {
				return fmt.Errorf("filter of %s: %w", p.Event, err)
			}
		}
		format, err := o.Tracefs.Format(s.Group.Name(), p.Event)
		if err != nil {
			return fmt.Errorf("probe %s: %w", p.Event, err)
		}
		for _, a := range p.Args {
			if err := a.sign(format, o.Filter); err != nil {
				return err
			}
			text, length := format.Field(a.Name), format.Field(a.Length)
			if a.Length != "" && text != nil && length != nil {
				text.LengthOffset, text.LengthSize = length.Offset, length.Size
			}
		}
		s.Formats = append(s.Formats, format)
	}
	return nil
}

// sign marks the field of a signed bit field. The kernel's filters compare it as unsigned, so
// filters whose result depends on the sign are rejected.
func (a *FetchArg) sign(format *Format, filter string) error {
	field := format.Field(a.Name)
	var width int
	if _, err := fmt.Sscanf(a.Type, "b%d@", &width); err != nil || !a.Signed || field == nil {
		return nil
	}
	field.Signed, field.SignBits = true, width
	ordered := regexp.MustCompile(`\b` + regexp.QuoteMeta(a.Name) + `\s*([<>]|[!=]=\s*-)`)
	if filter != "" && ordered.MatchString(filter) {
		return fmt.Errorf("filter %q: %s is a signed bit field, which the kernel compares without its sign: compare it with == or != and its bits as a number from 0 to %d", escape.Text(filter), a.Name, uint64(1)<<width-1)
	}
	return nil
}

// IsUnavailable reports whether err means that tracefs or its file of dynamic events is missing
// or not accessible, and not that the kernel rejected a definition.
func IsUnavailable(err error) bool {
	if errors.As(err, new(*DefinitionError)) {
		return errors.Is(err, fs.ErrPermission) // lockdown
	}
	if errors.As(err, new(*FilterError)) {
		return false
	}
	return errors.Is(err, ErrNotMounted) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist)
}
