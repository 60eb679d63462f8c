package record

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/text/match"
	"github.com/ringtap/ringtap/perfevent"
)

// Event is an event as perf record's -e names it.
type Event struct {
	Name  string // as given, with its modifiers
	Event perfevent.Event
	// ExcludeUser and ExcludeKernel are the modifiers k and u.
	ExcludeUser, ExcludeKernel bool
	Precise                    uint8  // number of modifiers p: see perfevent.Sampling.PreciseIP
	Filter                     string // of a tracepoint or a probe: see perfevent.Sampling.Filter

	source *probe.Source // of a tracepoint or a probe; nil for others
	entry  bool          // a probe at a function's first instruction
}

// HasFields reports whether the event has fields, by which Filter can select: it is a tracepoint or a
// probe.
func (e *Event) HasFields() bool { return e.source != nil }

// Open attaches to the tracepoints or to the places of a probe, written as probe.Parse takes them. The
// caller of ParseEvents closes the set after the recording.
type Open func(spec string) (*probe.Set, error)

// EventError says what is wrong with the name of an event.
type EventError struct {
	Text string // the event
	Err  error
}

func (e *EventError) Error() string { return fmt.Sprintf("event %s: %v", e.Text, e.Err) }

// Unwrap returns the reason.
func (e *EventError) Unwrap() error { return e.Err }

// ParseEvents reads a list of events as perf-list(1) describes them: cycles, cpu-clock:u,
// LLC-load-misses, sched:sched_switch, sched:*, r01a8, cpu/event=0x3c/, mem:0x401000:rw. A list that
// starts with p:, r: or u: is one probe of ringtap's, 'p:libc:malloc size=%di', and may contain commas.
// The error is an *EventError.
func ParseEvents(list string, open Open) ([]Event, error) {
	if kind, _ := probe.CutKind(list); kind != 0 && kind != 't' {
		events, err := openProbe(list, open)
		if err != nil {
			return nil, &EventError{list, err}
		}
		return events, nil
	}
	var events []Event
	for _, text := range splitEvents(list) {
		some, err := parseEvent(text, open)
		if err != nil {
			return nil, &EventError{text, err}
		}
		events = append(events, some...)
	}
	return events, nil
}

// splitEvents splits a list at its commas, except those between the slashes of a PMU's event.
func splitEvents(list string) (events []string) {
	begin, inside := 0, false
	for i := range len(list) {
		switch {
		case list[i] == '/':
			inside = !inside
		case list[i] == ',' && !inside:
			events, begin = append(events, list[begin:i]), i+1
		}
	}
	return append(events, list[begin:])
}

// openProbe attaches to a probe. Its events are named like perf's own probes.
func openProbe(text string, open Open) ([]Event, error) {
	set, err := open(text)
	if err != nil {
		return nil, err
	}
	var events []Event
	for i := range set.Sources {
		s := &set.Sources[i]
		events = append(events, Event{Name: "probe:" + s.Format.Name, Event: s.Event, Filter: s.Filter, source: s, entry: set.AtEntry})
	}
	return events, nil
}

func parseEvent(text string, open Open) ([]Event, error) {
	switch {
	case text == "":
		return nil, errors.New("it has no name")
	case strings.ContainsAny(text, "{}"):
		return nil, errors.New("groups are not recorded: name the events without braces")
	case strings.HasPrefix(text, "mem:"):
		return parseBreakpoint(text)
	case strings.Contains(text, "/"):
		return parsePMU(text)
	}
	name, rest, _ := strings.Cut(text, ":")
	if event, ok := named(name); ok {
		return modified(Event{Name: text, Event: event}, rest)
	}
	if event, ok := raw(name); ok {
		return modified(Event{Name: text, Event: event}, rest)
	}
	if rest == "" {
		return nil, unknown(name)
	}
	return parseTracepoint(text, open)
}

// modified applies the modifiers of an event.
func modified(e Event, modifiers string) ([]Event, error) {
	var user, kernel bool
	for _, m := range modifiers {
		switch m {
		case 'u':
			user = true
		case 'k':
			kernel = true
		case 'p':
			e.Precise++
		case 'P': // the most precise that there is: ringtap takes what every CPU has
		case 'h', 'H', 'G': // the hypervisor, the host and guests, which are not left out
		default:
			return nil, fmt.Errorf("modifier %q: ringtap knows u (user), k (kernel) and p (precise)", m)
		}
	}
	if e.Precise > 3 {
		return nil, errors.New("at most three modifiers p")
	}
	if user || kernel {
		e.ExcludeUser, e.ExcludeKernel = !user, !kernel
	}
	return []Event{e}, nil
}

// aliases are perf list's second names of events.
var aliases = map[string]string{
	"cpu-cycles": "cycles", "branches": "branch-instructions",
	"idle-cycles-frontend": "stalled-cycles-frontend", "idle-cycles-backend": "stalled-cycles-backend",
	"faults": "page-faults", "cs": "context-switches", "migrations": "cpu-migrations",
}

// known returns the events that have a name everywhere.
func known() []perfevent.Event {
	return append(perfevent.SoftwareEvents(), perfevent.HardwareEvents()...)
}

// named returns the event with a name of perf list's.
func named(name string) (perfevent.Event, bool) {
	if other, ok := aliases[name]; ok {
		name = other
	}
	for _, e := range known() {
		if e.String() == name {
			return e, true
		}
	}
	return perfevent.Event{}, false
}

// raw returns the event of a CPU that r and its number in hexadecimal name.
func raw(name string) (perfevent.Event, bool) {
	digits, ok := strings.CutPrefix(name, "r")
	if !ok {
		return perfevent.Event{}, false
	}
	config, err := strconv.ParseUint(digits, 16, 64)
	return perfevent.Raw(config), err == nil
}

// unknown returns the error for an event that has no colon and no such name.
func unknown(name string) error {
	var names []string
	for _, e := range known() {
		names = append(names, e.String())
	}
	if near := match.Near(name, names); near != nil {
		return fmt.Errorf("no such event; %s", match.DidYouMean(near))
	}
	return errors.New("no such event: see ringtap list")
}

// parsePMU reads PMU/TERM,…/MODIFIERS.
func parsePMU(text string) ([]Event, error) {
	pmu, rest, _ := strings.Cut(text, "/")
	terms, modifiers, closed := strings.Cut(rest, "/")
	if !closed {
		return nil, errors.New("the second / is missing")
	}
	event, err := perfevent.Dynamic(pmu, strings.Split(terms, ",")...)
	if err != nil {
		return nil, err
	}
	return modified(Event{Name: text, Event: event}, strings.TrimPrefix(modifiers, ":"))
}

// breakpointKinds are the accesses of mem:ADDRESS:ACCESS.
var breakpointKinds = map[rune]perfevent.BreakpointKind{'r': perfevent.BreakpointRead, 'w': perfevent.BreakpointWrite, 'x': perfevent.BreakpointExecute}

// parseBreakpoint reads mem:ADDRESS[/LENGTH][:ACCESS[:MODIFIERS]].
func parseBreakpoint(text string) ([]Event, error) {
	parts := strings.SplitN(text, ":", 4)
	address, length, sized := strings.Cut(parts[1], "/")
	at, err := strconv.ParseUint(address, 0, 64)
	if err != nil {
		return nil, fmt.Errorf("%q is no address", address)
	}
	size := 4 // as in perf
	if sized {
		if size, err = strconv.Atoi(length); err != nil {
			return nil, fmt.Errorf("%q is no length", length)
		}
	}
	kind := perfevent.BreakpointRead | perfevent.BreakpointWrite
	if len(parts) > 2 {
		kind = 0
		for _, access := range parts[2] {
			one, ok := breakpointKinds[access]
			if !ok {
				return nil, fmt.Errorf("access %q: r, w or x", access)
			}
			kind |= one
		}
	}
	e := Event{Name: text, Event: perfevent.Breakpoint(kind, at, size)}
	if len(parts) > 3 {
		return modified(e, parts[3])
	}
	return []Event{e}, nil
}

// parseTracepoint reads SYSTEM:NAME[:MODIFIERS]. System and name may be patterns.
func parseTracepoint(text string, open Open) ([]Event, error) {
	parts := strings.SplitN(text, ":", 3)
	set, err := open("t:" + parts[0] + ":" + parts[1])
	if err != nil {
		return nil, err
	}
	var events []Event
	for i := range set.Sources {
		s := &set.Sources[i]
		e := Event{Name: s.Event.String(), Event: s.Event, source: s}
		some := []Event{e}
		if len(parts) > 2 {
			e.Name += ":" + parts[2]
			if some, err = modified(e, parts[2]); err != nil {
				return nil, err
			}
		}
		events = append(events, some...)
	}
	return events, nil
}
