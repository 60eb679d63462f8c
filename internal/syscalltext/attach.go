package syscalltext

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/perfevent"
)

// Method is where the text comes from.
type Method string

// The ways, best first.
const (
	Tracepoint Method = "tracepoint" // the kernel's own record has it (Linux 6.19), or its beginning
	Kprobe     Method = "kprobe"     // a probe on the system call's function fetches it
	Near       Method = "near"       // the process's memory is read while its thread stands still
	Memory     Method = "memory"     // the process's memory is read when its record comes
	None       Method = "none"       // addresses are all there is
)

// Methods are all ways, best first.
func Methods() []Method { return []Method{Tracepoint, Kprobe, Near, Memory, None} }

// Options is how text is had.
type Options struct {
	Tracefs *ftrace.FS
	Method  Method // "" takes the best that the kernel has
	Near    bool   // the way Near is there: the caller's main function has what Start needs
	Filter  string // which may compare texts; see package eventfilter
	// Limit is how many bytes of a text to read, up to 32 KiB. Longer texts are cut. At least 4096 bytes, the
	// longest path, are read.
	Limit  int
	Logger *slog.Logger // nil discards
}

// Attachment is the texts of several tracepoints.
type Attachment struct {
	// Sources are those that were given and, behind them, those that were added for what
	// the kernel can't compare.
	Sources []probe.Source
	Methods []Method // of each source: None where no parameter points to text
	// Aside are to be sampled behind the sources, for Seen alone.
	Aside []perfevent.Sampling

	// Texts counts those that records should have, Late those of them that were read
	// later than the event, and Missing those that nobody could read any more, up to the
	// last record.
	Texts, Late, Missing uint64

	logger  *slog.Logger
	events  []*event // of each source, nil for those whose records are as they come
	reader  *reader  // nil if no memory is read
	group   *ftrace.Group
	scratch []byte
}

// Attach has sources that are tracepoints show the text behind their parameters: it
// changes those that have such parameters. The caller closes the attachment after the
// perf events.
//
// The error says why the way that was asked for is not possible; without one there
// is always a way. It is a *ftrace.FilterError where a text can't be compared like that.
func Attach(sources []probe.Source, o Options) (*Attachment, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Attachment{logger: o.Logger}
	for i := range sources {
		name := sources[i].Format.Name
		way, inner, err := a.attach(&sources[i], o)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("text of %s:%s: %w", sources[i].Format.System, name, err), a.Close())
		}
		if way != None {
			o.Logger.Info("text of a system call", "event", name, "way", string(way))
		}
		a.Methods, a.events = append(a.Methods, way), append(a.events, inner)
	}
	params := make([][]Param, len(sources))
	for i, e := range a.events {
		params[i] = Params(sources[i].Format)
		if e == nil {
			continue
		}
		e.layout.limit = limitOf(o.Limit, params[i])
		if a.reader == nil {
			a.reader = newReader()
		}
		sources[i].Format, sources[i].Prepare = e.layout.format, ask
		sources[i].Record = func(dst []byte, s *perfevent.Sample) []byte { return a.record(dst, i, s) }
	}
	a.Sources = slices.Clone(sources)
	for i := range sources {
		if err := a.filter(i, params[i], o); err != nil {
			return nil, errors.Join(err, a.Close())
		}
		sources[i].Filter, sources[i].Keep = a.Sources[i].Filter, a.Sources[i].Keep
	}
	if a.reader != nil {
		a.reader.events = a.events
		if slices.ContainsFunc(a.Sources, func(s probe.Source) bool { return isExec(s.Format) && s.Record != nil }) {
			a.watchExecs(o)
		}
	}
	return a, nil
}

// watchExecs has the programs that are started tell the texts of execve(2).
func (a *Attachment) watchExecs(o Options) {
	e, sampling := newExecs(o.Tracefs, a.reader)
	if e == nil {
		o.Logger.Info("no tracepoint tells which programs are started")
		return
	}
	a.reader.execs, a.Aside = e, []perfevent.Sampling{sampling}
}

// attach finds the way of one source; the event is nil if its records are as they
// come.
func (a *Attachment) attach(source *probe.Source, o Options) (Method, *event, error) {
	f := source.Format
	params := Params(f)
	if len(params) == 0 {
		return None, nil, nil
	}
	if o.Method == None {
		source.Format = withoutTexts(f, params)
		return None, nil, nil
	}
	hasText := slices.ContainsFunc(params, func(p Param) bool { return f.Field(printfmt.SyscallText(p.Name)) != nil })
	own := &event{layout: newLayout(f, params), own: f} // of a tracepoint that has the texts' beginnings
	switch {
	case hasText && o.Method == "" && o.Near:
		return Tracepoint, own, nil
	case hasText && o.Method == Tracepoint:
		return Tracepoint, nil, nil
	case o.Method == Tracepoint:
		return None, nil, errors.New("the tracepoint does not record it (Linux 6.19 and later do)")
	case o.Method == Kprobe, o.Method == "":
		event, inner, err := a.kprobe(f, params, o.Tracefs)
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("this kernel has no kprobe_events (CONFIG_KPROBE_EVENTS)")
		}
		if err == nil {
			source.Event = event
		}
		if err == nil || o.Method == Kprobe {
			return Kprobe, inner, err
		}
		o.Logger.Info("no kprobe for the text of a system call", "event", f.Name, "error", err)
		if hasText {
			return Tracepoint, own, nil
		}
	}
	way := Memory
	if o.Near && o.Method != Memory {
		way = Near
	}
	return way, &event{layout: newLayout(f, params)}, nil
}

// stackCopy is how much of the stack comes with each event, bytes: names in a
// buffer of the function that calls are there. The arguments of a program would
// be in the 12 KiB above (the kernel leaves a gap of up to 8), but a storm of
// such records is more than is read in time.
const stackCopy = 2 << 10

// ask adds to a sampling what finding texts takes.
func ask(s *perfevent.Sampling) {
	s.UserRegs |= 1 << stackPointer
	s.UserStack = max(s.UserStack, stackCopy)
}

// Seen is to be perfevent.Reader.Unordered of the session that opens the sources; nil if
// none needs it.
func (a *Attachment) Seen() func(perfevent.Record) {
	if a.reader == nil {
		return nil
	}
	return a.reader.seen
}

// record appends the record of a sample of the i-th source, with its texts.
func (a *Attachment) record(dst []byte, i int, s *perfevent.Sample) []byte {
	e := a.events[i]
	a.scratch = e.tracepoint(a.scratch[:0], s.Raw)
	texts := a.reader.take(i, e, s)
	if a.Sources[i].Keep == nil { // else whoever asks counts what could not be compared
		a.count(e, s, texts)
	}
	return e.layout.append(dst, a.scratch, texts)
}

// count takes note of the texts that a sample's record should have.
func (a *Attachment) count(e *event, s *perfevent.Sample, texts []text) {
	for i := range e.layout.params {
		if e.pointer(i, s.Raw) == 0 {
			continue
		}
		a.Texts++
		switch {
		case i >= len(texts) || len(texts[i].bytes) == 0:
			a.Missing++
		case texts[i].late:
			a.Late++
		}
	}
}

// Close ends what Start has started and removes what Attach has made.
func (a *Attachment) Close() error {
	a.endNear()
	if a.group == nil {
		return nil
	}
	return a.group.Close()
}
