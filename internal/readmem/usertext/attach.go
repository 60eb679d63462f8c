package usertext

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/readmem/athit"
	"github.com/ringtap/ringtap/perfevent"
)

// Way says who reads the texts.
type Way string

// The ways.
const (
	Auto   Way = "auto"   // the kernel, and a helper once a text is too long for the kernel
	Kernel Way = "kernel" // the kernel alone
	Near   Way = "near"   // the kernel, and a helper from the first hit on
)

// Ways returns all ways.
func Ways() []Way { return []Way{Auto, Kernel, Near} }

// Options say how texts are read.
type Options struct {
	Target perfevent.Target // of the session that opens the sources
	Way    Way
	// Limit is how many bytes of a text the caller needs, 0 for all. No more are read.
	Limit int
	// Late reads a text when its record is handled, if nobody has read it at the hit. Such texts are
	// marked.
	Late   bool
	Logger *slog.Logger // nil discards
}

// Attachment reads the texts of several probes.
type Attachment struct {
	// Texts counts the texts of the hits so far. Of these, Late texts were read later than the hit, and
	// Cut texts are not whole. Missing texts could not be read, though their pointers may be valid.
	Texts, Late, Cut, Missing uint64

	options Options
	sources []probe.Source
	probes  []*texts // of each source, nil for those without texts
	reader  *athit.Reader
	tried   bool // whether the helper was started, or could not be
}

// texts describes the texts that a probe fetches.
type texts struct {
	layout   *layout
	pointers []athit.Pointer // of the layout's texts
	enough   int             // bytes of a text that the caller needs, 0 for all
}

// whole reports whether the kernel's record has as much of the i-th text as the caller needs.
func (t *texts) whole(s *perfevent.Sample, i int) bool {
	field := t.layout.texts[i]
	if athit.Whole(s.Raw, field.Offset, t.layout.full) {
		return true
	}
	kernel, _ := field.Bytes(s.Raw)
	if n, ok := field.TextLength(s.Raw); ok && uint64(len(kernel)) >= n {
		return true
	}
	return t.enough > 0 && len(kernel) >= t.enough
}

// maxTexts bounds the bytes of all texts of a hit together: a record has 16-bit offsets.
const maxTexts = 56 << 10

// Attach makes the records of user probes contain whole texts. It changes the sources that fetch
// texts. The caller closes the attachment after the perf events. If o.Way is Near, the error says
// why there is no helper.
func Attach(sources []probe.Source, o Options) (*Attachment, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Attachment{options: o, sources: sources, probes: make([]*texts, len(sources))}
	events := make([]athit.Event, len(sources))
	unended, n := false, 0
	for i := range sources {
		t := textsOf(&sources[i], o.Limit)
		if t == nil {
			continue
		}
		n++
		unended = unended || t.unended()
		a.probes[i], events[i].Pointers = t, t.pointers
		sources[i].Format = t.layout.format
		sources[i].Prepare = t.prepare
		sources[i].Record = func(dst []byte, s *perfevent.Sample) []byte { return a.record(dst, i, s) }
	}
	a.reader = athit.New(events, athit.Options{Logger: o.Logger})
	if n > 0 && o.Way == Near {
		return a, a.start()
	}
	if unended {
		a.tryStart()
	}
	return a, nil
}

// unended reports whether any text has a length instead of a final zero byte. The kernel can't read
// such a text if it is in a run of 4096 bytes without a zero, like the literals of a Go program.
func (t *texts) unended() bool {
	return slices.ContainsFunc(t.layout.texts, func(f *ftrace.Field) bool { return f.LengthSize > 0 })
}

// start starts the helper.
func (a *Attachment) start() error {
	a.tried = true
	return a.reader.Start(a.options.Target, func(i int) perfevent.Sampling { return a.sources[i].Sampling() })
}

// tryStart starts the helper if the way is Auto. Only the first call does anything.
func (a *Attachment) tryStart() {
	if a.tried || a.options.Way != Auto {
		return
	}
	if err := a.start(); err != nil {
		a.options.Logger.Info("long texts are cut", "error", err)
	}
}

// textsOf returns the texts that a source fetches and that the helper can read, nil if there are none. limit is
// Options.Limit.
func textsOf(source *probe.Source, limit int) *texts {
	if source.Format == nil || source.Record != nil {
		return nil
	}
	t := &texts{enough: limit}
	var fields []*ftrace.Field
	for i := range source.Args {
		arg := &source.Args[i]
		field := source.Format.Field(arg.Name)
		pointer, ok := parse(arg.Fetch)
		if !ok || !isText(arg) || field == nil || field.Location != ftrace.DataLoc || field.Size != 4 {
			continue
		}
		fields, t.pointers = append(fields, field), append(t.pointers, pointer)
	}
	if len(fields) == 0 {
		return nil
	}
	t.layout = newLayout(source.Format, fields)
	for i := range t.pointers {
		p := &t.pointers[i]
		p.Limit, p.Fetched, p.Full = maxTexts/len(fields), fields[i].Offset, t.layout.full
		if limit > 0 {
			p.Limit = min(p.Limit, limit+1) // one more byte shows that the text goes on
		}
	}
	return t
}

// prepare makes samples copy the registers that have the pointers.
func (t *texts) prepare(s *perfevent.Sampling) {
	for i := range t.pointers {
		s.UserRegs |= 1 << t.pointers[i].Register
	}
}

// Seen must be the perfevent.Reader.Unordered of the session that opens the sources. They must be its
// first samplings.
func (a *Attachment) Seen(record perfevent.Record) { a.reader.Seen(record) }

// record appends the record of a sample of the i-th source, with its texts. It starts the helper at the first
// sample with a text that the kernel did not deliver whole.
func (a *Attachment) record(dst []byte, source int, s *perfevent.Sample) []byte {
	t, start := a.probes[source], len(dst)
	dst = t.layout.begin(dst, s.Raw)
	whole := true
	for i := range t.layout.texts {
		a.Texts++
		if t.whole(s, i) {
			continue
		}
		whole = false
		if t.leads(s, i) {
			a.tryStart()
		}
	}
	if whole {
		return dst
	}
	found := a.reader.Take(source, s)
	for i, field := range t.layout.texts {
		if t.whole(s, i) {
			continue
		}
		kernel, _ := field.Bytes(s.Raw)
		f := &found[i]
		if pointer, ok := s.Regs.Value(t.pointers[i].Register); ok && a.options.Late && !f.Read && f.Certainty != athit.Exact {
			*f = a.reader.Find(s, &t.pointers[i], pointer)
		}
		if n, ok := field.TextLength(s.Raw); ok && uint64(len(f.Bytes)) >= n {
			f.Bytes, f.Cut = f.Bytes[:n], false
		}
		late := f.Certainty < athit.Exact
		switch {
		case f.Read && bytes.HasPrefix(f.Bytes, kernel):
			dst = t.layout.put(dst, start, i, f.Bytes, f.Cut, late)
			if f.Cut && (t.enough == 0 || len(f.Bytes) < t.enough) {
				a.Cut++
			}
			if late {
				a.Late++
			}
		case len(kernel) > 0:
			dst = t.layout.put(dst, start, i, kernel, true, false)
			a.Cut++
		case t.leads(s, i) && late:
			a.Missing++
		}
	}
	return dst
}

// leads reports whether the pointer of the i-th text may be valid. Programs often pass null
// pointers.
func (t *texts) leads(s *perfevent.Sample, i int) bool {
	value, ok := s.Regs.Value(t.pointers[i].Register)
	return ok && value >= firstPage
}

// firstPage is the lowest address that a program may use.
const firstPage = 4096

// Notes returns sentences that say which texts are not in the records.
func (a *Attachment) Notes() (notes []string) {
	if a.Missing > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d texts could not be read: they are too long for the kernel, or their pointers lead nowhere", a.Missing, a.Texts))
	}
	if a.Cut > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d texts are cut short, where they end in ...", a.Cut, a.Texts))
	}
	if a.options.Way == Auto && a.Missing+a.Cut > 0 {
		notes = append(notes, "--text near reads long texts from the first hit on")
	}
	if rests := a.Rests(); rests != "" {
		notes = append(notes, rests)
	}
	return notes
}

// Rests returns a sentence that says since when hits came too fast for the helper to read all long texts. It
// returns "" if that did not happen.
func (a *Attachment) Rests() string {
	return a.reader.Rests("long texts were left as the kernel read them")
}

// Helper returns the process ID of the helper that reads long texts, or 0 if there is none. Its hits are not the
// target's.
func (a *Attachment) Helper() uint32 { return a.reader.Helper() }

// Close ends the helper.
func (a *Attachment) Close() {
	if err := a.reader.Close(); err != nil {
		a.options.Logger.Warn("long texts were not read to the end", "error", err)
	}
}
