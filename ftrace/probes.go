package ftrace

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"regexp"
	"strings"

	"github.com/ringtap/ringtap/internal/escape"
)

// Probe is one place of a set of events.
type Probe struct {
	Event     string // its name
	Place     string // see Dynamic
	Return    bool
	Args      []FetchArg
	MaxActive int // see Dynamic
}

// dynamic is the probe as the kernel takes it.
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

// fields says what the records of a probe hold. Those of probes with the same
// fields can be of one event.
func (p *Probe) fields() string {
	words := []string{fmt.Sprint(p.Return)}
	for _, a := range p.Args {
		words = append(words, fmt.Sprint(a.Name, ":", a.Type, a.Signed, a.Length))
	}
	return strings.Join(words, " ")
}

// ProbeOptions say how probes are defined.
type ProbeOptions struct {
	Tracefs *FS    // nil: the mounted one; if there is none it is mounted, and stays
	File    string // "uprobe_events" or "kprobe_events"
	Filter  string // that is tried on the events; "" for none
	// Merge lets probes with the same fields share an event, which is named as
	// the first of them, where the kernel can do it (see FS.AddsPlaces).
	Merge  bool
	Logger *slog.Logger // nil discards
}

// Probes are probes that the kernel knows.
type Probes struct {
	Formats []*Format // of the events, one for each probe in their order, unless merged
	Group   *Group    // that has them, to be closed after their perf events
	Merged  bool      // some probes share an event
}

// DefineProbes defines an event for each probe. After an error nothing stays defined;
// it is a *FilterError if the filter is wrong, or a *DefinitionError if the kernel
// does not take a probe. IsUnavailable tells other reasons.
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
			// It stays: another tracer may use it by the time this one ends.
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

// define defines an event for each probe, or merged for each kind of record that
// there is. Of those that have the same fields the first tries the filter.
func (s *Probes) define(probes []Probe, o *ProbeOptions) error {
	merge := o.Merge && o.Tracefs.AddsPlaces()
	known := make(map[string]string) // by fields, the first event that has them
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

// sign gives the field of a signed bit field its sign. The kernel's filters compare it without,
// so that filters whose result depends on the sign are refused.
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

// IsUnavailable tells whether an error says that tracefs, or its file of events,
// can't be had, and not that the kernel dislikes what was written to it.
func IsUnavailable(err error) bool {
	if errors.As(err, new(*DefinitionError)) {
		return errors.Is(err, fs.ErrPermission) // lockdown
	}
	if errors.As(err, new(*FilterError)) {
		return false
	}
	return errors.Is(err, ErrNotMounted) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist)
}
