package usertext

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/bits"
	"slices"
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
	// Limit is how many bytes of a text matter, 0 for all: no more is read.
	Limit int
	// Memory reads the memory of a sample's process now, as much as there is. Texts that nobody has read at
	// the hit are read so, and marked; nil leaves them.
	Memory func(s *perfevent.Sample, addr uint64, b []byte) int
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
	enough int     // bytes of a text that matter, 0 for all
}

// whole tells whether the kernel's record has all that matters of the i-th text.
func (t *texts) whole(s *perfevent.Sample, i int) bool {
	field := t.layout.texts[i]
	if exacttext.Whole(s.Raw, field.Offset, t.layout.full) {
		return true
	}
	kernel, _ := field.Bytes(s.Raw)
	if n, ok := field.TextLength(s.Raw); ok && uint64(len(kernel)) >= n {
		return true
	}
	return t.enough > 0 && len(kernel) >= t.enough
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
		t.first, t.enough = n, o.Limit
		if o.Limit > 0 {
			t.limit = min(t.limit, o.Limit+1) // one more tells that it is cut
		}
		n++
		a.probes[i] = t
		sources[i].Format = t.layout.format
		sources[i].Prepare = t.prepare
		sources[i].Record = func(dst []byte, s *perfevent.Sample) []byte { return a.record(dst, t, s) }
	}
	if n > 0 && o.Way == Near {
		return a, a.start()
	}
	if o.Way == Auto && slices.ContainsFunc(a.probes, (*texts).unended) {
		a.tryStart()
	}
	return a, nil
}

// unended reports whether any text does not end with a zero byte. The kernel reads none of those that
// are in a row of 4096 bytes without one, as the literals of a Go program are.
func (t *texts) unended() bool {
	return t != nil && slices.ContainsFunc(t.layout.texts, func(f *ftrace.Field) bool { return f.LengthSize > 0 })
}

// tryStart starts the helper, unless it failed before.
func (a *Attachment) tryStart() {
	if a.failed {
		return
	}
	if err := a.start(); err != nil {
		a.failed = true
		a.options.Logger.Info("long texts are cut", "error", err)
	}
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
	for i := range t.layout.texts {
		a.Texts++
		whole = whole && t.whole(s, i)
	}
	if whole {
		return dst
	}
	found, exact := a.read(t, s)
	for i, field := range t.layout.texts {
		if t.whole(s, i) {
			continue
		}
		kernel, _ := field.Bytes(s.Raw)
		near := i < len(found)
		text, cut, late := []byte(nil), false, !exact
		if near && found[i].Read {
			text, cut = found[i].Bytes, found[i].Cut
		} else if !near || !exact {
			text, cut = a.now(t, i, s)
			late = true
		}
		if n, ok := field.TextLength(s.Raw); ok && uint64(len(text)) >= n {
			text, cut = text[:n], false
		}
		switch {
		case text != nil && bytes.HasPrefix(text, kernel):
			dst = t.layout.put(dst, start, i, text, cut, late)
			a.note(cut && (t.enough == 0 || len(text) < t.enough), late)
		case len(kernel) > 0:
			dst = t.layout.put(dst, start, i, kernel, true, false)
			a.Cut++
		case t.leads(s, i) && !(exact && near):
			a.Missing++
		}
	}
	return dst
}

// now reads a text as it is now, up to the limit; nil if that can't be.
func (a *Attachment) now(t *texts, i int, s *perfevent.Sample) (text []byte, cut bool) {
	addr, ok := register(s, t.fetch[i].register)
	if !ok || a.options.Memory == nil {
		return nil, false
	}
	path := t.fetch[i].path
	for _, offset := range path[:len(path)-1] {
		var b [8]byte
		if a.options.Memory(s, addr+uint64(offset), b[:]) < len(b) {
			return nil, false
		}
		addr = binary.NativeEndian.Uint64(b[:])
	}
	b := make([]byte, t.limit)
	n := a.options.Memory(s, addr+uint64(path[len(path)-1]), b)
	if end := bytes.IndexByte(b[:n], 0); end >= 0 {
		return b[:end], false
	}
	if n < len(b) {
		return nil, false // it goes on where nothing is
	}
	return b, true
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
	if a.reader.Load() == nil && a.options.Way == Auto && t.lead(s) {
		a.tryStart()
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
	for i := range t.layout.texts {
		if !t.whole(s, i) && t.leads(s, i) {
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
	if rests := a.Rests(); rests != "" {
		notes = append(notes, rests)
	}
	return notes
}

// Rests says from when on hits came so fast that the helper did not read all long texts; "" if they never did.
func (a *Attachment) Rests() string {
	reader := a.reader.Load()
	if reader == nil {
		return ""
	}
	since, lasted := reader.Rested()
	if since == 0 {
		return ""
	}
	at := time.Now().Add(-time.Duration(perfevent.Now() - since))
	return fmt.Sprintf("hits came too fast from %s on, for %v of CPU time: long texts were left as the kernel read them",
		at.Format("15:04:05.000"), lasted.Round(time.Millisecond))
}

// Helper is the process that reads long texts, or 0. Nobody wants to see its hits.
func (a *Attachment) Helper() uint32 {
	if reader := a.reader.Load(); reader != nil {
		return reader.PID()
	}
	return 0
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
