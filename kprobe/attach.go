package kprobe

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
)

// AttachOptions say what the events of a plan are for.
type AttachOptions struct {
	Target  perfevent.Target // what the perf session will watch
	Tracefs *ftrace.FS       // nil: the mounted one; if there is none it is mounted, and stays
	Filter  string           // over the events' fields, for the kernel; "" for none
	// PerSampling is the number of perf events that the session opens for one probe, as
	// Target.PerSampling knows it; with 0 events of tracefs are preferred to
	// perf's own.
	PerSampling int
	// Merge lets sites whose records have the same fields share an event, which
	// is named as the first of them: an event takes the kernel long to open and
	// to close, at however many sites it is. Which site was hit the sample's IP
	// tells, and the record's first field.
	Merge bool
	// UserStacks says that user stacks will be asked for, which MethodFunction does
	// not have.
	UserStacks bool
	Method     Method       // to be taken, even where another is better; MethodAny chooses
	Logger     *slog.Logger // may be nil
}

// Attachment is a plan that the kernel knows, or is known to take. Nothing is
// traced until a perf session opens its events.
type Attachment struct {
	Events  []perfevent.Event // one for each of the plan's sites, in their order, unless merged
	Formats []*ftrace.Format  // of the events' records
	Filter  string            // to be set on each of the events
	Method  Method            // that was taken

	// IntrRegs is to be set in the Sampling of each event, besides Raw.
	IntrRegs uint64
	// Raw, unless nil, makes the record that Formats[i] describes of a sample of
	// Events[i]: it appends it to dst and returns that. Where it is nil samples
	// carry the record.
	Raw func(dst []byte, i int, s *perfevent.Sample) []byte

	group  *ftrace.Group // of MethodKprobeEvents, else nil
	merged bool
}

// Attach makes events of a plan's sites by the first way that can do it, in the
// order of the Methods; but MethodPMU comes after MethodKprobeEvents where it would serve
// less well. Each refusal is logged. After an error nothing stays defined.
//
// The error is a *MethodError if no way does; a *ftrace.FilterError if the filter is
// wrong, or a *ftrace.DefinitionError if kprobe_events does not take a site,
// which no other way is then asked about. The other ways' own refusals of a site
// come when the events are opened, as *perfevent.OpenError.
func Attach(p *Plan, o AttachOptions) (*Attachment, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	failure := &MethodError{What: p.Definition.Text}
	for _, way := range order(p, &o) {
		a, err := attachers[way](p, &o)
		if err == nil {
			o.Logger.Debug("attached", "way", way, "events", len(a.Events), "sites", len(p.Sites))
			a.Method = way
			return a, nil
		}
		if way == MethodKprobeEvents && err != errNoProbes && !ftrace.IsUnavailable(err) {
			return nil, err
		}
		o.Logger.Debug("can't be traced this way", "way", way, "error", err)
		failure.Refusals = append(failure.Refusals, Refusal{way, err})
	}
	failure.Forced = o.Method != MethodAny
	return nil, failure
}

// attachers are the ways' own attach functions.
var attachers = map[Method]func(*Plan, *AttachOptions) (*Attachment, error){
	MethodPMU: attachPMU, MethodKprobeEvents: attachTracefs, MethodFunction: attachFunction, MethodBreakpoint: attachBreakpoint,
}

// order is the ways to try, best first. What a way can't do at all it says when
// it is tried; here is what it does worse than another.
func order(p *Plan, o *AttachOptions) []Method {
	if o.Method != MethodAny {
		return []Method{o.Method}
	}
	if reason := p.notPMU(o); reason != "" {
		o.Logger.Debug("events of tracefs are better", "than", MethodPMU, "reason", reason)
		return []Method{MethodKprobeEvents, MethodPMU, MethodFunction, MethodBreakpoint}
	}
	return []Method{MethodPMU, MethodKprobeEvents, MethodFunction, MethodBreakpoint}
}

// fetches tells whether any site has arguments.
func (p *Plan) fetches() bool {
	for i := range p.Sites {
		if len(p.Sites[i].Args) > 0 {
			return true
		}
	}
	return false
}

// returns tells whether any site is a return probe.
func (p *Plan) returns() bool {
	for i := range p.Sites {
		if p.Sites[i].Return {
			return true
		}
	}
	return false
}

// Merged tells whether several of the plan's sites share an event.
func (a *Attachment) Merged() bool { return a.merged }

// errNotCounted is why Hits may fail.
var errNotCounted = errors.New("only events of kprobe_events are counted by the kernel, place by place")

// Hits returns how often each of the plan's sites was hit, in their order,
// whoever hit it: see ftrace.Group.Hits. Hits count as long as a perf event is
// open, enabled or not. It is for MethodKprobeEvents, and errors.ErrUnsupported
// otherwise.
func (a *Attachment) Hits() ([]uint64, error) {
	if a.group == nil {
		return nil, fmt.Errorf("%w: %w", errNotCounted, errors.ErrUnsupported)
	}
	return a.group.Hits()
}

// Missed returns how often each of the plan's sites was passed without a hit, in
// their order: see ftrace.Group.Missed. The kernel misses before it counts, so
// that calls are what perf counted and what was missed. It is nil where nobody
// knows: MethodPMU misses as much as MethodKprobeEvents and does not tell, MethodFunction
// leaves out functions that are entered while it handles another one on the same
// CPU, in the same context (task, softirq, hardirq, NMI).
func (a *Attachment) Missed() ([]uint64, error) {
	if a.group == nil {
		return nil, nil
	}
	return a.group.Missed()
}

// Close removes the events. The perf session that has them open must be closed
// before.
func (a *Attachment) Close() error {
	if a.group == nil {
		return nil
	}
	return a.group.Close()
}
