package usertext

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/exacttext"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/perfevent"
)

// Way says who reads the texts.
type Way string

// The ways.
const (
	Auto   Way = "auto"   // the kernel, and a helper from the first text on that is too long for it
	Kernel Way = "kernel" // the kernel alone
	Near   Way = "near"   // the helper from the first hit on, where the kernel's text is not whole
)

// Ways are all of them.
func Ways() []Way { return []Way{Auto, Kernel, Near} }

// Options is how texts are had.
type Options struct {
	Target perfevent.Target // of the session that opens the sources
	Way    Way
	Logger *slog.Logger // nil discards
}

// Attachment is the texts of several probes.
type Attachment struct {
	// Texts counts those of the hits, up to the last one. Late were read later than the hit.
	// Cut are not whole. Missing could not be read, though their pointers may lead to a text.
	Texts, Late, Cut, Missing uint64

	options Options
	sources []probe.Source
	probes  []*texts                         // of each source, nil for those without texts
	reader  atomic.Pointer[exacttext.Reader] // Seen may be called on another goroutine
	failed  bool                             // the reader could not be started
}

// texts is what a probe fetches.
type texts struct {
	layout *layout
	fetch  []fetch // of the layout's texts
	first  int     // of the reader's samplings; all are one
	limit  int     // of each text, bytes
}

// mostText is how long all the texts of a hit may be together: a record tells offsets of 16 bits.
const mostText = 56 << 10

// Attach has sources that are user probes show whole texts: it changes those that fetch any. The
// caller closes the attachment after the perf events. With Near an error says why there is no
// helper.
func Attach(sources []probe.Source, o Options) (*Attachment, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &Attachment{options: o, sources: sources, probes: make([]*texts, len(sources))}
	n := 0
	for i := range sources {
		t := textsOf(&sources[i])
		if t == nil {
			continue
		}
		t.first = n
		n++
		a.probes[i] = t
		sources[i].Format = t.layout.format
		sources[i].Prepare = t.prepare
		sources[i].Record = func(dst []byte, s *perfevent.Sample) []byte { return a.record(dst, t, s) }
	}
	if n > 0 && o.Way == Near {
		return a, a.start()
	}
	return a, nil
}

// textsOf finds the texts that a source fetches and that could be read by another; nil if there
// is none.
func textsOf(source *probe.Source) *texts {
	if source.Format == nil || source.Record != nil {
		return nil
	}
	t := &texts{}
	var fields []*ftrace.Field
	for i := range source.Args {
		arg := &source.Args[i]
		field := source.Format.Field(arg.Name)
		f, ok := parse(arg.Fetch)
		if !ok || !isText(arg) || field == nil || field.Location != ftrace.DataLoc || field.Size != 4 {
			continue
		}
		fields, t.fetch = append(fields, field), append(t.fetch, f)
	}
	if len(fields) == 0 {
		return nil
	}
	t.layout, t.limit = newLayout(source.Format, fields), mostText/len(fields)
	return t
}

// prepare adds to a sampling the registers by which a hit is known again.
func (t *texts) prepare(s *perfevent.Sampling) {
	for _, f := range t.fetch {
		s.UserRegs |= 1 << f.register
	}
}

// start starts the helper.
func (a *Attachment) start() error {
	var samplings []exacttext.Sampling
	for i, t := range a.probes {
		if t == nil {
			continue
		}
		var wanted []exacttext.Text
		for j, f := range t.fetch {
			wanted = append(wanted, exacttext.Text{InRegister: true, Register: f.register, Path: f.path, Limit: t.limit,
				Fetched: t.layout.texts[j].Offset, Full: t.layout.full})
		}
		samplings = append(samplings, exacttext.Sampling{Sampling: a.sources[i].Sampling(), Texts: wanted})
	}
	reader, err := exacttext.Start(a.options.Target, samplings, exacttext.Options{Logger: a.options.Logger})
	if err != nil {
		return fmt.Errorf("read texts while threads stand still: %w", err)
	}
	a.reader.Store(reader)
	return nil
}

// Seen is to be perfevent.Reader.Unordered of the session that opens the sources, which are its first
// samplings. It tells hits apart of which some were not read.
func (a *Attachment) Seen() func(perfevent.Record) {
	return func(record perfevent.Record) {
		s, ok := record.(*perfevent.Sample)
		if !ok || s.Sampling >= len(a.probes) || a.probes[s.Sampling] == nil {
			return
		}
		if reader := a.reader.Load(); reader != nil {
			reader.Saw(a.probes[s.Sampling].first, s)
		}
	}
}

// record appends the record of a sample, with its texts.
func (a *Attachment) record(dst []byte, t *texts, s *perfevent.Sample) []byte {
	start := len(dst)
	dst = t.layout.begin(dst, s.Raw)
	whole := true
	for _, field := range t.layout.texts {
		a.Texts++
		whole = whole && exacttext.Whole(s.Raw, field.Offset, t.layout.full)
	}
	if whole {
		return dst
	}
	found, exact := a.read(t, s)
	for i, field := range t.layout.texts {
		if exacttext.Whole(s.Raw, field.Offset, t.layout.full) {
			continue
		}
		kernel, _ := field.Bytes(s.Raw)
		if i < len(found) && found[i].Read && bytes.HasPrefix(found[i].Bytes, kernel) {
			dst = t.layout.put(dst, start, i, found[i].Bytes, found[i].Cut, !exact)
			a.note(found[i].Cut, !exact)
		} else if len(kernel) > 0 {
			dst = t.layout.put(dst, start, i, kernel, true, false)
			a.Cut++
		} else if t.leads(s, i) && !(exact && i < len(found)) {
			a.Missing++
		}
	}
	return dst
}

func (a *Attachment) note(cut, late bool) {
	if cut {
		a.Cut++
	}
	if late {
		a.Late++
	}
}

// read returns the texts of a sample that the helper has read. The first time that there should
// be one it starts the helper.
func (a *Attachment) read(t *texts, s *perfevent.Sample) (found []exacttext.Found, exact bool) {
	if a.reader.Load() == nil && a.options.Way == Auto && !a.failed && t.lead(s) {
		if err := a.start(); err != nil {
			a.failed = true
			a.options.Logger.Info("long texts are cut", "error", err)
		}
	}
	reader := a.reader.Load()
	if reader == nil {
		return nil, false
	}
	found, exact = reader.Take(t.first, s)
	for i := range found {
		if value, ok := register(s, t.fetch[i].register); !ok || value != found[i].Addr {
			return nil, false // of another hit
		}
	}
	return found, exact
}

// lead tells whether any of a sample's texts that the kernel has not whole may be one.
func (t *texts) lead(s *perfevent.Sample) bool {
	for i, field := range t.layout.texts {
		if !exacttext.Whole(s.Raw, field.Offset, t.layout.full) && t.leads(s, i) {
			return true
		}
	}
	return false
}

// leads tells whether the pointer of the i-th text may lead anywhere. Programs call functions
// with null pointers all the time.
func (t *texts) leads(s *perfevent.Sample, i int) bool {
	value, ok := register(s, t.fetch[i].register)
	return ok && value >= firstPage
}

// firstPage is where memory begins that programs may have.
const firstPage = 4096

// register is a register of a sample.
func register(s *perfevent.Sample, number int) (uint64, bool) {
	i := bits.OnesCount64(s.Regs.Mask & (1<<number - 1))
	if s.Regs.Mask>>number&1 == 0 || i >= len(s.Regs.Values) {
		return 0, false
	}
	return s.Regs.Values[i], true
}

// Notes say what is not in the records, each in a sentence.
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
	reader := a.reader.Load()
	if reader == nil {
		return notes
	}
	if since, lasted := reader.Rested(); since > 0 {
		at := time.Now().Add(-time.Duration(perfevent.Now() - since))
		notes = append(notes, fmt.Sprintf("hits came too fast from %s on, for %v of CPU time: long texts were left as the kernel read them",
			at.Format("15:04:05.000"), lasted.Round(time.Millisecond)))
	}
	return notes
}

// Close ends the helper.
func (a *Attachment) Close() {
	reader := a.reader.Load()
	if reader == nil {
		return
	}
	if err := reader.Close(); err != nil {
		a.options.Logger.Warn("long texts were not read to the end", "error", err)
	}
}
