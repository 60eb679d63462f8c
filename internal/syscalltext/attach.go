package syscalltext

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/perfevent"
)

// Way is where the text comes from.
type Way string

// The ways, best first.
const (
	Tracepoint Way = "tracepoint" // the kernel's own record has it (Linux 6.19)
	Kprobe     Way = "kprobe"     // a probe on the system call's function fetches it
	Memory     Way = "memory"     // the process's memory is read when its record comes
	None       Way = "none"       // addresses are all there is
)

// Ways are all ways, best first.
func Ways() []Way { return []Way{Tracepoint, Kprobe, Memory, None} }

// Options is how text is had.
type Options struct {
	Tracefs *ftrace.FS
	Way     Way          // "" takes the best that the kernel has
	Logger  *slog.Logger // nil discards
}

// Event is an event to be opened and read.
type Event struct {
	Way    Way // None where no parameter points to text
	Event  perfevent.Event
	Format *ftrace.Format // of the records that Raw makes
}

// Attachment is the events of several tracepoints.
type Attachment struct {
	Events []Event // one for each format, in their order

	events  []*event // the same, nil for those whose records are as they come
	reader  *reader  // nil if no memory is read
	group   *ftrace.Group
	scratch []byte
}

// Attach finds out how the text behind the parameters of tracepoints is had
// here. Tracepoints without such parameters stay what they are. The caller
// closes the attachment after the perf events.
//
// The error says why a way that was asked for can't be gone; without one there
// is always a way.
func Attach(formats []*ftrace.Format, o Options) (*Attachment, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Attachment{}
	for _, f := range formats {
		e, inner, err := a.attach(f, o)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("text of %s:%s: %w", f.System, f.Name, err), a.Close())
		}
		if e.Way != None {
			o.Logger.Info("text of a system call", "event", f.Name, "way", string(e.Way))
		}
		a.Events, a.events = append(a.Events, e), append(a.events, inner)
	}
	for _, e := range a.events {
		if e != nil && a.reader == nil {
			a.reader = newReader()
			a.reader.events = a.events
		}
	}
	return a, nil
}

// attach attaches one event.
func (a *Attachment) attach(f *ftrace.Format, o Options) (Event, *event, error) {
	plain := Event{Way: None, Event: perfevent.Tracepoint(uint64(f.ID), f.System+":"+f.Name), Format: f}
	params := Params(f)
	if len(params) == 0 || o.Way == None {
		return plain, nil, nil
	}
	hasText := slices.ContainsFunc(params, func(p Param) bool { return f.Field(ftrace.SyscallText(p.Name)) != nil })
	switch {
	case hasText && (o.Way == "" || o.Way == Tracepoint):
		plain.Way = Tracepoint
		return plain, nil, nil
	case o.Way == Tracepoint:
		return plain, nil, errors.New("the tracepoint does not record it (Linux 6.19 and later do)")
	case o.Way == Kprobe, o.Way == "":
		e, inner, err := a.kprobe(f, params, o.Tracefs)
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("this kernel has no kprobe_events (CONFIG_KPROBE_EVENTS)")
		}
		if err == nil || o.Way == Kprobe {
			return e, inner, err
		}
		o.Logger.Info("no kprobe for the text of a system call", "event", f.Name, "error", err)
	}
	plain.Way = Memory
	inner := &event{layout: newLayout(f, params)}
	plain.Format = inner.layout.format
	return plain, inner, nil
}

// stackCopy is how much of the stack comes with each event, bytes: names in a
// buffer of the function that calls are there. The arguments of a program would
// be in the 12 KiB above (the kernel leaves a gap of up to 8), but a storm of
// such records is more than is read in time.
const stackCopy = 2 << 10

// Ask adds to the i-th event's sampling what finding its texts takes.
func (a *Attachment) Ask(i int, s *perfevent.Sampling) {
	if a.events[i] == nil || a.reader == nil {
		return
	}
	s.UserRegs |= 1 << stackPointer
	s.UserStack = max(s.UserStack, stackCopy)
}

// Seen is to be perfevent.Reader.Unordered; nil if no event needs it.
func (a *Attachment) Seen() func(perfevent.Record) {
	if a.reader == nil {
		return nil
	}
	return a.reader.seen
}

// Raw appends the record of a sample of the i-th event, as its format has it.
// It is called once for each sample.
func (a *Attachment) Raw(dst []byte, i int, s *perfevent.Sample) []byte {
	e := a.events[i]
	if e == nil {
		return append(dst, s.Raw...)
	}
	a.scratch = e.tracepoint(a.scratch[:0], s.Raw)
	return e.layout.append(dst, a.scratch, a.reader.take(s))
}

// Close removes what Attach has made.
func (a *Attachment) Close() error {
	if a.group == nil {
		return nil
	}
	return a.group.Close()
}
