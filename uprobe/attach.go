package uprobe

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
)

// fewEvents is how many of perf's own uprobe events may serve one probe. Each is
// a consumer of its own that the kernel calls at every hit, whether or not it
// watches the CPU or thread that hit, and a thread that moves to another CPU
// between two of these calls is seen by the events of both CPUs or of neither
// (handler_chain in kernel/events/uprobes.c is preemptible). A tracefs event is
// one consumer for any number of perf events.
const fewEvents = 1

// AttachOptions say what the events of a plan are for.
type AttachOptions struct {
	Target  perfevent.Target // what the perf session will watch
	Tracefs *ftrace.FS       // nil: the mounted one; if there is none it is mounted, and stays
	Filter  string           // over the events' fields, for the kernel; "" for none
	// PerSampling is the number of perf events that the session opens for one probe, as
	// Target.PerSampling knows it; with 0 tracefs's events are preferred.
	PerSampling int
	// Merge lets sites whose records have the same fields share an event of
	// tracefs, which is named as the first of them. An event takes the kernel
	// a tenth of a second to close, at however many sites it is. Which site was
	// hit the sample tells: its IP is mapped from the site's offset. It needs
	// Linux 5.4 and is left out before.
	Merge  bool
	Logger *slog.Logger // may be nil
}

// Attachment is a plan that the kernel knows. Nothing is traced until a perf
// session opens its events.
type Attachment struct {
	Events  []perfevent.Event // one for each of the plan's sites, in their order, unless merged
	Formats []*ftrace.Format  // of the events' records
	Filter  string            // to be set on each of the events

	group  *ftrace.Group // nil with perf's own uprobe events
	merged bool
}

// errInherit is why perf's own events are not used for a process. For each thread
// or child that inherits one, the kernel reads the path of the probed file again,
// from the address that we gave it but in the memory of the process that forks
// (perf_uprobe_init in kernel/trace/trace_event_perf.c): its clone(2) fails.
var errInherit = errors.New("perf's own uprobe events cannot watch a process: it could no longer start threads or children")

// Attach makes events of a plan's sites: perf's own uprobe events, which vanish
// with their file descriptors, where no argument is fetched, there is no filter,
// nothing is inherited and few of them serve; else events of tracefs, in a group
// of this process. Who may not use tracefs gets perf's own events as well, if
// those can do it. After an error nothing stays defined.
//
// The error is a *ftrace.FilterError if the filter is wrong, or a
// *ftrace.DefinitionError if the kernel does not take a site.
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

// fetches tells whether any site has arguments.
func (p *Plan) fetches() bool {
	for i := range p.Sites {
		if len(p.Sites[i].Args) > 0 {
			return true
		}
	}
	return false
}

// inherits tells whether new threads and children of a target get its events.
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
