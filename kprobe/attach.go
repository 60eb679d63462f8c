package kprobe

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
)

// AttachOptions are the options of Attach.
type AttachOptions struct {
	Target  perfevent.Target // what the perf session will watch
	Tracefs *ftrace.FS       // nil: the mounted one; if there is none, it is mounted and stays mounted
	Filter  string           // kernel filter on the events' fields; "" for none
	// PerSampling is the number of perf events that the session opens for one probe, as
	// returned by Target.PerSampling. If it is 0, tracefs events are preferred to perf's own.
	PerSampling int
	// Merge lets sites whose records have the same fields share one event, named after the
	// first of them. Opening and closing an event takes the kernel long, no matter how many
	// sites it has. The sample's IP and the record's first field tell which site was hit.
	Merge bool
	// UserStacks says that the caller needs user stacks, which MethodFunction does not provide.
	UserStacks bool
	Method     Method       // the only method to try; MethodAny chooses
	Logger     *slog.Logger // may be nil
}

// Attachment is a plan whose events are ready to be opened. Nothing is traced until a perf
// session opens them.
type Attachment struct {
	Events  []perfevent.Event // one for each of the plan's sites, in order, unless merged
	Formats []*ftrace.Format  // formats of the events' records
	Filter  string            // the caller must set it on each event
	Method  Method            // the method used

	// IntrRegs must be added to the Sampling of each event, whose Raw must be set, too.
	IntrRegs uint64
	// Raw converts a sample of Events[i] to the record that Formats[i] describes: it appends
	// the record to dst and returns the result. If it is nil, samples carry the record.
	Raw func(dst []byte, i int, s *perfevent.Sample) []byte

	group  *ftrace.Group // for MethodKprobeEvents, else nil
	merged bool
}

// Attach makes events for a plan's sites. It uses the first Method that can do it. The order is
// that of the constants, but MethodPMU comes after MethodKprobeEvents if it would work less
// well. Each failure is logged. On an error, nothing stays defined.
//
// The error is a *MethodError if no method works, and a *ftrace.FilterError if the filter is
// wrong. If kprobe_events rejects a site, it is a *ftrace.DefinitionError, and no other method
// is tried. If another method rejects a site, the error comes when the events are opened, as a
// *perfevent.OpenError.
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

var attachers = map[Method]func(*Plan, *AttachOptions) (*Attachment, error){
	MethodPMU: attachPMU, MethodKprobeEvents: attachTracefs, MethodFunction: attachFunction, MethodBreakpoint: attachBreakpoint,
}

// order returns the methods to try, best first. It only ranks them; a method that cannot do
// what is asked fails when it is tried.
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

func (p *Plan) fetches() bool {
	for i := range p.Sites {
		if len(p.Sites[i].Args) > 0 {
			return true
		}
	}
	return false
}

func (p *Plan) returns() bool {
	for i := range p.Sites {
		if p.Sites[i].Return {
			return true
		}
	}
	return false
}

// Merged reports whether several of the plan's sites share an event.
func (a *Attachment) Merged() bool { return a.merged }

var errNotCounted = errors.New("only events of kprobe_events are counted by the kernel, place by place")

// Hits returns how often each of the plan's sites was hit, in order, by any process: see
// ftrace.Group.Hits. Hits are counted while a perf event is open, enabled or not. Only
// MethodKprobeEvents supports it; otherwise the error wraps errors.ErrUnsupported.
func (a *Attachment) Hits() ([]uint64, error) {
	if a.group == nil {
		return nil, fmt.Errorf("%w: %w", errNotCounted, errors.ErrUnsupported)
	}
	return a.group.Hits()
}

// Missed returns how often each of the plan's sites was passed without a hit, in order: see
// ftrace.Group.Missed. A missed hit is in no other count, so the number of calls is perf's
// count plus the missed ones. The result is nil if the number is unknown: MethodPMU misses as
// many as MethodKprobeEvents but does not count them. MethodFunction misses functions that are
// entered while it handles another one on the same CPU, in the same context (task, softirq,
// hardirq, NMI).
func (a *Attachment) Missed() ([]uint64, error) {
	if a.group == nil {
		return nil, nil
	}
	return a.group.Missed()
}

// Close removes the events. The perf session that has them open must be closed first.
func (a *Attachment) Close() error {
	if a.group == nil {
		return nil
	}
	return a.group.Close()
}
