package syscalltext

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/ftrace/printfmt"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/readmem/athit"
	"github.com/ringtap/ringtap/perfevent"
)

// Method says where texts come from.
type Method string

// The ways, best first.
const (
	Tracepoint Method = "tracepoint" // the kernel's own record has the text, or its start (Linux 6.19)
	Kprobe     Method = "kprobe"     // a probe on the system call's function fetches the text
	Near       Method = "near"       // a helper process (athit) reads the memory while the thread is stopped
	Memory     Method = "memory"     // the process's memory is read when its record comes
	None       Method = "none"       // records have only addresses
)

// Methods returns all methods, best first.
func Methods() []Method { return []Method{Tracepoint, Kprobe, Near, Memory, None} }

// Options say how texts are read.
type Options struct {
	Tracefs *ftrace.FS
	Method  Method // "" takes the best that the kernel has
	Near    bool   // allows Near: the caller's main function gives athit.NewVisitors to helper.Serve
	Filter  string // which may compare texts; see package eventfilter
	// Limit is how many bytes of a text to read, up to 32 KiB. Longer texts are cut. At least 4096 bytes, the
	// longest path, are read.
	Limit  int
	Logger *slog.Logger // nil discards
}

// Attachment reads the texts of several tracepoints.
type Attachment struct {
	// Sources are the sources given to Attach, then those added for records whose texts the kernel has
	// compared.
	Sources []probe.Source
	Methods []Method // of each source: None if no parameter points to text
	// The session must sample ExtraEvents after the sources. Only Seen needs their records.
	ExtraEvents []perfevent.Sampling

	// Texts counts the texts that the records so far should have. Of these, Late texts were read later
	// than the event, and Missing texts could not be read.
	Texts, Late, Missing uint64

	options Options
	events  []*event      // of each source, nil if its records need no change
	reader  *athit.Reader // nil if no memory is read
	execs   *execs        // nil if no source starts programs
	group   *ftrace.Group
	scratch []byte
}

// Attach makes the records of system call tracepoints contain the texts that parameters point to. It changes
// the sources that have such parameters. The caller closes the attachment after the perf events.
//
// The error says why Options.Method is not possible; if Method is "", one is always possible. It is a
// *ftrace.FilterError if the filter compares a text in a way that is not possible.
func Attach(sources []probe.Source, o Options) (*Attachment, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Attachment{options: o}
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
	if !slices.ContainsFunc(a.events, func(e *event) bool { return e != nil }) {
		return a, nil
	}
	a.prepare(athit.Options{Logger: o.Logger})
	if slices.ContainsFunc(a.Sources, func(s probe.Source) bool { return isExec(s.Format) && s.Record != nil }) {
		a.watchExecs(o)
	}
	return a, nil
}

// prepare prepares to read the texts of the events.
func (a *Attachment) prepare(o athit.Options) {
	events := make([]athit.Event, len(a.events))
	for i, e := range a.events {
		events[i].Pointers = e.pointers()
	}
	a.reader = athit.New(events, o)
}

// watchExecs prepares to take the texts of execve(2) from the programs that it starts.
func (a *Attachment) watchExecs(o Options) {
	e, sampling := newExecs(o.Tracefs, a.reader)
	if e == nil {
		o.Logger.Info("no tracepoint tells which programs are started")
		return
	}
	a.execs, a.ExtraEvents = e, []perfevent.Sampling{sampling}
}

// attach chooses the method for one source. The event is nil if the source's records need no change.
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
	own := &event{layout: newLayout(f, params), own: f} // if the tracepoint records the start of texts
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

// ask makes samples copy the stack and the stack pointer, because a text may be on the stack.
func ask(s *perfevent.Sampling) {
	s.UserRegs |= arch.Mask(arch.Here.SP)
	s.UserStack = max(s.UserStack, athit.StackBytes)
}

// Seen returns the perfevent.Reader.Unordered of the session that opens the sources, nil if it needs none.
func (a *Attachment) Seen() func(perfevent.Record) {
	if a.reader == nil {
		return nil
	}
	return a.seen
}

// record appends the record of a sample of the i-th source, with its texts.
func (a *Attachment) record(dst []byte, i int, s *perfevent.Sample) []byte {
	e := a.events[i]
	a.scratch = e.tracepoint(a.scratch[:0], s.Raw)
	texts := a.texts(i, s)
	if a.Sources[i].Keep == nil { // else the caller of Keep counts the texts that could not be compared
		a.count(e, s, texts)
	}
	return e.layout.append(dst, a.scratch, texts)
}

// count counts the texts that a sample's record should have.
func (a *Attachment) count(e *event, s *perfevent.Sample, texts []text) {
	for i := range e.layout.params {
		if e.pointer(i, s.Raw) == 0 {
			continue
		}
		a.Texts++
		switch {
		case len(texts[i].bytes) == 0:
			a.Missing++
		case texts[i].late:
			a.Late++
		}
	}
}

// Start starts the helper if Options.Near allows it and the kernel does not fetch all texts. It is called before
// the sources are opened on the target. If the helper can't start, texts are read late, which is an error only if
// Method is Near.
func (a *Attachment) Start(target perfevent.Target) error {
	if !a.options.Near || a.reader == nil || a.options.Method == Memory {
		return nil
	}
	err := a.reader.Start(target, func(i int) perfevent.Sampling { return a.Sources[i].Sampling() })
	if err != nil && a.options.Method != Near {
		a.options.Logger.Info("texts are read late", "error", err)
		return nil
	}
	return err
}

// Helper returns the process ID of the helper, or 0 if there is none. Its hits are not the target's.
func (a *Attachment) Helper() uint32 { return a.reader.Helper() }

// AtMoments reports whether all texts are read at the time of the call, so that Seen need not get records
// immediately.
func (a *Attachment) AtMoments() bool {
	return !slices.ContainsFunc(a.Methods, func(m Method) bool { return m == Memory || m == Near && a.Helper() == 0 })
}

// Rests returns a sentence that says since when hits came too fast to read all texts exactly. It returns "" if
// that did not happen.
func (a *Attachment) Rests() string {
	return a.reader.Rests(fmt.Sprintf("%d of %d texts were read a moment after their calls", a.Late, a.Texts))
}

// Close stops the helper and removes the probes that Attach has defined.
func (a *Attachment) Close() error {
	if err := a.reader.Close(); err != nil {
		a.options.Logger.Warn("texts were not read exactly to the end", "error", err)
	}
	if a.group == nil {
		return nil
	}
	return a.group.Close()
}
