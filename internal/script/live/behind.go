package live

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/script/check"
	"github.com/ringtap/ringtap/internal/script/plan"
	"github.com/ringtap/ringtap/internal/script/value"
	"github.com/ringtap/ringtap/perfevent"
)

// behind has what event probes fetch of the kernel's memory at hits of tracepoints: see plan.Behind.
// Perf has no samples of event probes. Their records come from a trace instance, and each is joined
// to the sample of its hit:
//
//	tracepoint ─┬─ perf's handler, the first → sample ────────────────┬→ hit
//	            └─ event probe → instance → Pipe → joiner, by context ─┘
type behind struct {
	group    *ftrace.Group
	instance *ftrace.Instance
	formats  map[int]*ftrace.Format // by the number of the event
	handled  atomic.Uint64          // the time of the latest sample

	mu     sync.Mutex
	pipe   *ftrace.Pipe
	joiner joiner
	err    error // of the pipe, which gives nothing any more
}

// probed is the event probe on the tracepoint of a source.
type probed struct {
	format *ftrace.Format
	same   []sameField
	filter string // "" for none
}

// sameField is a field that the tracepoint's record and the event probe's have.
type sameField struct{ recorded, fetched *ftrace.Field }

// attachBehind puts event probes on the tracepoints of which clauses read what their fields lead to.
func (a *Attachment) attachBehind() error {
	for _, s := range a.sources {
		if len(s.event.Behind.Fetch) == 0 {
			continue
		}
		if a.behind == nil {
			a.behind = &behind{formats: make(map[int]*ftrace.Format)}
			if err := a.behind.open(); err != nil {
				return err
			}
		}
		if err := a.behind.add(s, a.options.Nested); err != nil {
			return at(s.event, err)
		}
	}
	return nil
}

// Sizes of the instance's buffers, in KiB: of one CPU, and of all.
const (
	leastProbed = 512
	mostProbed  = 4 << 10
	allProbed   = 64 << 10
)

// open prepares the instance.
func (b *behind) open() error {
	tracefs, _, err := ftrace.Mount()
	if err != nil {
		return err
	}
	if b.group, err = tracefs.NewGroup("dynamic_events"); err != nil {
		return err
	}
	if b.instance, err = tracefs.NewInstance(); err != nil {
		return err
	}
	if err := b.instance.Write("trace_clock", "mono"); err != nil { // which perf's samples have, too
		return err
	}
	cpus, err := perfevent.OnlineCPUs()
	if err != nil {
		return err
	}
	size := min(max(allProbed/len(cpus), leastProbed), mostProbed)
	if err := b.instance.Write("buffer_size_kb", fmt.Sprint(size)); err != nil {
		return err
	}
	b.pipe, err = b.instance.FS().OpenPipe()
	return err
}

// add puts an event probe on the tracepoint of a source.
func (b *behind) add(s *source, nested bool) error {
	recorded, of := s.probe.Format, &s.event.Behind
	filter, compared := comparing(s, maxFetched-len(of.Fetch))
	d := ftrace.Dynamic{Type: 'e', Event: fmt.Sprintf("behind%d", len(b.formats)), Place: recorded.System + "." + recorded.Name, Args: of.String() + compared}
	if _, err := b.group.Define(d); err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n") // the rest shows the definition, which is not in the program's text
		return fmt.Errorf("the kernel can't fetch what the fields of %s:%s lead to: %s", recorded.System, recorded.Name, text)
	}
	format, err := b.instance.FS().Format(b.group.Name(), d.Event)
	if err != nil {
		return err
	}
	s.probed = &probed{format: format}
	if filter != nil {
		s.probed.filter = (&translator{format: format, nested: nested}).words(filter).text
	}
	for _, same := range of.Same {
		f := sameField{recorded.Field(same.Field), format.Field(same.Fetch)}
		if f.recorded == nil || f.fetched == nil {
			return fmt.Errorf("%s has no field %s", recorded.Name, same.Field)
		}
		s.probed.same = append(s.probed.same, f)
	}
	b.formats[format.ID] = format
	return nil
}

// maxFetched is how many arguments an event probe may have (MAX_TRACE_ARGS in
// kernel/trace/trace_probe.h).
const maxFetched = 128

// comparing returns the condition of a source for the record of an event probe, nil if it has none, and
// the arguments that it compares: the tracepoint's fields. What is no number in the tracepoint's record
// is not compared, so that each hit that passes there passes here.
func comparing(s *source, room int) (c *plan.Condition, args string) {
	if s.event.Filter == nil || s.sample.Filter == "" {
		return nil, ""
	}
	names := make(map[string]string)
	c = s.event.Filter.Renamed(func(name string) string {
		field := s.probe.Format.Field(name)
		if known := names[name]; known != "" || field == nil || !isNumber(field) || len(names) >= room {
			return known
		}
		sign := "u"
		if field.Signed {
			sign = "s"
		}
		names[name] = fmt.Sprintf("compared%d", len(names))
		args += fmt.Sprintf(" %s=$%s:%s%d", names[name], name, sign, 8*field.Size)
		return names[name]
	})
	return c, args
}

// filterBehind has the event probes leave out the hits that have no samples.
func (a *Attachment) filterBehind() {
	for _, s := range a.sources {
		if s.probed == nil || s.probed.filter == "" || s.sample.Filter == "" {
			continue
		}
		if err := a.behind.instance.Write(eventDir(s.probed.format)+"filter", s.probed.filter); err != nil {
			a.Unfiltered = append(a.Unfiltered, fmt.Sprintf("the event probe on %s: %v", s.name, err))
		}
	}
}

// eventDir is the directory of an event in the instance.
func eventDir(f *ftrace.Format) string { return "events/" + f.System + "/" + f.Name + "/" }

// start turns the event probes on. Perf's events must be open: a tracepoint calls who listens in the
// order in which they came, so that each sample is followed by its record.
func (b *behind) start() error {
	for _, format := range b.formats {
		if err := b.instance.Write(eventDir(format)+"enable", "1"); err != nil {
			return fmt.Errorf("turn on an event probe: %w", err)
		}
	}
	return nil
}

// everyRead is how often the instance is read: its buffer must not be full by then.
const everyRead = 20 * time.Millisecond

// collect reads the instance until stop is called.
func (b *behind) collect() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(everyRead)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				b.mu.Lock()
				b.read()
				b.mu.Unlock()
			}
		}
	}()
	return func() { close(done); <-ended }
}

// read reads what the event probes have recorded by now. The caller holds the lock.
func (b *behind) read() {
	if b.err != nil {
		return
	}
	until := perfevent.Now()
	b.err = b.pipe.DrainUntil(until, func(e, _ *ftrace.Entry) error {
		b.joiner.add(e)
		return nil
	})
	b.joiner.read(until, b.handled.Load())
}

// betweenReads is how long a hit waits before it looks for its record again.
const betweenReads = time.Millisecond

// take returns the record of the event probe for a sample, nil if it is lost.
func (b *behind) take(s *source, sample *perfevent.Sample) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	of := place{contextOf(s.probed.format.ID, sample.CPU, sample.Raw), int(sample.CPU), sample.Time}
	same := func(raw []byte) bool { return s.probed.matches(sample.Raw, raw) }
	for {
		raw, answer := b.joiner.find(of, same)
		if answer != notYet || b.err != nil {
			return raw
		}
		before := b.joiner.until
		if b.read(); b.joiner.until-before < uint64(betweenReads) {
			b.mu.Unlock()
			time.Sleep(betweenReads)
			b.mu.Lock()
		}
	}
}

// matches tells whether the fields that two records share are the same.
func (p *probed) matches(recorded, fetched []byte) bool {
	for _, f := range p.same {
		a, ok := f.recorded.Uint(recorded)
		b, ok2 := f.fetched.Uint(fetched)
		if !ok || !ok2 || (a^b)<<(64-8*min(f.recorded.Size, 8)) != 0 {
			return false
		}
	}
	return true
}

// close removes the instance and the event probes.
func (b *behind) close() error {
	var errs []error
	if b.pipe != nil {
		b.pipe.Close()
	}
	if b.instance != nil {
		errs = append(errs, b.instance.Close())
	}
	if b.group != nil {
		errs = append(errs, b.group.Close())
	}
	return errors.Join(errs...)
}

// ofEventProbe returns what reads a field of the record of the event probe. Where that is lost, the
// field is zero.
func (s *source) ofEventProbe(name string, of *check.Source) (getter, error) {
	f := s.probed.format.Field(name)
	if f == nil {
		return nil, fmt.Errorf("%s has no field %s", s.probed.format.Name, name)
	}
	return inRecord((*hit).behind, recorded(f, of), of), nil
}

// inRecord returns what reads a value in another record of the hit. Where there is none, the value is
// zero.
func inRecord(record func(h *hit) []byte, get getter, of *check.Source) getter {
	return func(h *hit) value.Value {
		raw := record(h)
		if raw == nil {
			return value.Load(of.Type, "")
		}
		own := h.raw
		h.raw = raw
		v := get(h)
		h.raw = own
		return v
	}
}

// behind returns the record of the event probe for the hit, nil if it is lost.
func (h *hit) behind() []byte {
	if !h.probedTaken {
		h.probed, h.probedTaken = h.feed.Attachment.behind.take(h.source, h.sample), true
		account := &h.feed.account
		account.Probed++
		if h.probed == nil {
			account.Unprobed++
		}
	}
	return h.probed
}
