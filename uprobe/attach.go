package uprobe

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
)

// fewEvents is the maximum number of perf's own uprobe events for one probe. Each event is a
// separate consumer, which the kernel calls at every hit, even if the event does not watch that
// CPU or thread. If a thread moves to another CPU between two of these calls, the events of
// both CPUs see the hit, or neither does (handler_chain in kernel/events/uprobes.c is
// preemptible). A tracefs event is a single consumer for any number of perf events.
const fewEvents = 1

// AttachOptions are the options of Attach.
type AttachOptions struct {
	Target  perfevent.Target // what the perf session will watch
	Tracefs *ftrace.FS       // nil: the mounted one; if there is none, it is mounted and stays mounted
	Filter  string           // kernel filter on the events' fields; "" for none
	// PerSampling is the number of perf events that the session opens for one probe, as
	// returned by Target.PerSampling. If it is 0, tracefs events are preferred.
	PerSampling int
	// Merge lets sites whose records have the same fields share one tracefs event, named after
	// the first of them. Closing an event takes the kernel a tenth of a second, no matter how
	// many sites it has. A sample's IP still tells which site was hit: it is mapped from the
	// site's offset. Merge needs Linux 5.4 and is ignored on older kernels.
	Merge  bool
	Logger *slog.Logger // may be nil
}

// Attachment is a plan whose events are defined in the kernel. Nothing is traced until a perf
// session opens the events.
type Attachment struct {
	Events  []perfevent.Event // one for each of the plan's sites, in order, unless merged
	Formats []*ftrace.Format  // formats of the events' records
	Filter  string            // the caller must set it on each event

	group  *ftrace.Group // nil if perf's own uprobe events are used
	merged bool
}

// errInherit says why perf's own events are not used to watch a process. For each thread or
// child that inherits such an event, the kernel reads the path of the probed file again. It
// uses our address for it, but in the memory of the forking process (perf_uprobe_init in
// kernel/trace/trace_event_perf.c), so that clone(2) fails there.
var errInherit = errors.New("perf's own uprobe events cannot watch a process: it could no longer start threads or children")

// Attach defines events for a plan's sites. It uses perf's own uprobe events, which vanish with
// their file descriptors, if all of these hold: no argument is fetched, there is no filter,
// nothing is inherited, and one event per probe is enough. Otherwise it defines tracefs events
// in a group of this process. If tracefs is not accessible, it tries perf's own events. On an
// error, nothing stays defined.
//
// The error is a *ftrace.FilterError if the filter is wrong, or a *ftrace.DefinitionError if
// the kernel rejects a site.
func Attach(p *Plan, o AttachOptions) (*Attachment, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	merge := o.Merge && len(p.Sites) > 1
	if o.PerSampling > 0 && o.PerSampling <= fewEvents && !p.fetches() && o.Filter == "" && !merge && !inherits(o.Target) {
		a, err := attachPMU(p, o)
		if !errors.Is(err, perfevent.ErrNoEvent) {
			return a, err
		}
		o.Logger.Debug("this kernel has no uprobe events of perf's own", "error", err)
	}
	a, err := attachTracefs(p, o)
	if err == nil || p.fetches() || !ftrace.IsUnavailable(err) {
		return a, err
	}
	o.Logger.Debug("tracefs can't be used", "error", err)
	a, pmuErr := attachPMU(p, o)
	if pmuErr != nil {
		return nil, fmt.Errorf("%w; and without tracefs: %w", err, pmuErr)
	}
	return a, nil
}

func (p *Plan) fetches() bool {
	for i := range p.Sites {
		if len(p.Sites[i].Args) > 0 {
			return true
		}
	}
	return false
}

// inherits reports whether new threads and children of a target inherit its events.
func inherits(t perfevent.Target) bool { return t.PerSampling() == 0 }

func attachPMU(p *Plan, o AttachOptions) (*Attachment, error) {
	if inherits(o.Target) {
		return nil, errInherit
	}
	a := &Attachment{Filter: o.Filter}
	for i := range p.Sites {
		s := &p.Sites[i]
		event, err := perfevent.Uprobe(s.KernelPath, s.Offset, s.RefCtr, s.Return)
		if err != nil {
			return nil, fmt.Errorf("probe %s: %w", s.Event, err)
		}
		a.Events = append(a.Events, event)
		a.Formats = append(a.Formats, ftrace.UprobeFormat("uprobes", s.Event, s.Return))
	}
	return a, nil
}
