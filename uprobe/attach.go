package uprobe

import (
	"errors"
	"log/slog"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
)

// AttachOptions say what the events of a plan are for.
type AttachOptions struct {
	Target  perfevent.Target // what the perf session will watch
	Tracefs *ftrace.FS       // nil: the mounted one, or it is mounted
	Filter  string           // over the events' fields, for the kernel; "" for none
	// Few is the number of perf events that the session opens for one probe on
	// Target, 0 if that is not known.
	Few    int
	Logger *slog.Logger
}

// Attachment is a plan that the kernel knows. Nothing is traced until a perf
// session opens its events.
type Attachment struct {
	Events  []perfevent.Event // one for each of the plan's sites, in their order
	Formats []*ftrace.Format  // of the events' records
	Filter  string            // to be set on each of the events
}

// Attach makes events of a plan's sites.
func Attach(p *Plan, o AttachOptions) (*Attachment, error) { return nil, errors.ErrUnsupported }

// Close removes the events. The perf session that has them open must be closed
// before.
func (a *Attachment) Close() error { return nil }
