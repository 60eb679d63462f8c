package script

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/perfdata"
	"github.com/ringtap/ringtap/internal/stack/symbolize"
	"github.com/ringtap/ringtap/internal/text/escape"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/symbols"
)

// Options configures a run.
type Options struct {
	Source engine.Source
	// Events are the events of the source's samples, by sampling.
	Events []perfdata.Event
	// EventWidth is the width of the event's column, in bytes: perf's is the longest name of the
	// recording's events, including those without samples.
	EventWidth int
	// Formats are the formats of the recorded tracepoints, by which their samples are printed.
	Formats       []perfdata.EventFormat
	KernelStrings []byte // see perfdata.File
	Fields        Fields
	Nanoseconds   bool // print times with nanoseconds, not with microseconds
	NoCallchains  bool // print only where each sample was taken
	MaxStack      int  // print at most so many frames of a callchain; 0 means 127, as in perf
	Inlines       bool // also print inlined functions
	// DebugFiles opens separate debug files; if nil, see symbolize.Options.
	DebugFiles func(path string) (symbols.ReaderAtCloser, int64, error)
	Out        io.Writer    // gets whole samples; its error ends the run
	Logger     *slog.Logger // nil discards
}

// Account says what happened to the records.
type Account struct {
	engine.Account
	names []string
}

// Notes returns the notes of engine.Account, and why names are missing.
func (a *Account) Notes() []string { return append(a.Account.Notes(), a.names...) }

// Run prints all samples of the source. It ends early, without an error, if the context is done.
func Run(ctx context.Context, o Options) (Account, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxStack == 0 {
		o.MaxStack = maxStack
	}
	s, err := newSink(o)
	if err != nil {
		return Account{}, err
	}
	e, err := engine.Start(ctx, o.Source, engine.Options{Names: true, Unwind: s.unwinds(), Logger: o.Logger})
	if err != nil {
		return Account{}, err
	}
	defer e.Close()
	symbolizer := symbolize.New(symbolize.Options{Lines: o.Inlines, CachePerfMaps: true, Late: e.Late(), Host: o.Source.Host(),
		DebugFiles: o.DebugFiles, Logger: o.Logger})
	defer symbolizer.Close() // an error does not matter: the debug files were only read
	s.engine, s.frames = e, newFrames(e.Processes(), symbolizer, o.MaxStack)
	if err := e.Enable(); err != nil {
		return Account{}, err
	}
	err = e.Run(s)
	if err == nil {
		err = s.flush()
	}
	account, accountErr := o.Source.Account()
	return Account{account, s.frames.notes}, errors.Join(err, accountErr)
}

// maxStack is how many frames of a callchain perf prints (PERF_MAX_STACK_DEPTH).
const maxStack = 127

// CPU modes of a sample.
const (
	modeKernel = unix.PERF_RECORD_MISC_KERNEL
	modeUser   = unix.PERF_RECORD_MISC_USER
)

// sink prints samples.
type sink struct {
	heading heading
	events  []event
	engine  *engine.Engine
	frames  *frames
	text    []byte // not yet written
	out     io.Writer
}

// event says how the samples of an event are printed.
type event struct {
	name   string
	fields fields
	chain  bool // with callchains
	unwind bool // with copies of stacks, which must be unwound
	// printer prints the fields of a tracepoint; nil if its format is unknown.
	printer *printfmt.Printer
}

func newSink(o Options) (*sink, error) {
	printers := newPrinters(o.Events, o.Formats, o.KernelStrings, o.Source.Host(), o.Logger)
	s := &sink{heading: heading{width: o.EventWidth, nanoseconds: o.Nanoseconds}, out: o.Out}
	for i := range o.Events {
		of := &o.Events[i]
		e := event{name: escape.Text(of.Name)}
		e.chain = of.Attr.Sample_type&unix.PERF_SAMPLE_CALLCHAIN != 0 && !o.NoCallchains
		e.unwind = of.Attr.Sample_type&unix.PERF_SAMPLE_STACK_USER != 0
		var err error
		if e.fields, err = o.Fields.of(of, o.Events, e.chain); err != nil {
			return nil, err
		}
		if e.fields&fieldTrace != 0 {
			e.printer = printers.of(of)
		}
		s.events = append(s.events, e)
	}
	return s, nil
}

// unwinds reports whether a callchain must be unwound.
func (s *sink) unwinds() bool {
	for i := range s.events {
		if e := &s.events[i]; e.chain && e.unwind && e.fields&fieldIP != 0 {
			return true
		}
	}
	return false
}

// outBytes is how many bytes of text are collected before they are written.
const outBytes = 256 << 10

// Record prints a sample.
func (s *sink) Record(record perfevent.Record) error {
	sample, ok := record.(*perfevent.Sample)
	if !ok {
		return nil
	}
	e := &s.events[sample.Sampling]
	s.text = s.heading.append(s.text, sample, s.engine.Names().Name(sample.TID), e.name, e.fields, e.chain)
	if e.printer != nil {
		s.text = e.printer.Append(s.text, sample.Raw)
	}
	set := e.fields & frameFields
	switch {
	case set&fieldIP == 0:
	case e.chain:
		s.frames.chain(sample, e.unwind)
		s.text = s.frames.append(append(s.text, '\n'), set, false)
	default:
		s.frames.leaf(sample, sample.Misc&unix.PERF_RECORD_MISC_CPUMODE_MASK)
		s.text = s.frames.append(appendHex(append(s.text, ' '), sample.IP), set, true)
	}
	if s.text = append(s.text, '\n'); len(s.text) >= outBytes {
		return s.flush()
	}
	return nil
}

// flush writes the collected text.
func (s *sink) flush() error {
	_, err := s.out.Write(s.text)
	s.text = s.text[:0]
	return err
}
