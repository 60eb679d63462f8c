package live

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
	"github.com/ringtap/ringtap/perfevent"
)

// pointeeReader returns the kernel memory that the fields of tracepoints point to: see plan.Behind. Event probes
// on the tracepoints fetch it. perf has no samples of event probes, so their records are read from a trace
// instance, and each is joined to the sample of its hit:
//
//	tracepoint ─┬─ perf's handler, the first → sample ────────────────┬→ hit
//	            └─ event probe → instance → Pipe → joiner, by context ─┘
type pointeeReader struct {
	group    *ftrace.Group
	instance *ftrace.Instance
	formats  map[int]*ftrace.Format // by the number of the event
	handled  atomic.Uint64          // the time of the latest sample

	mu     sync.Mutex
	pipe   *ftrace.Pipe
	joiner joiner
	err    error // of the pipe; no records follow
}

// probed is the event probe on the tracepoint of a source.
type probed struct {
	format *ftrace.Format
	same   []sameField
	filter string // "" for none
}

// sameField is a field that both the tracepoint's record and the event probe's record have.
type sameField struct{ recorded, fetched *ftrace.Field }

// attachPointees adds an event probe to each tracepoint whose clauses follow a pointer field.
func (a *Attachment) attachPointees() error {
	for _, s := range a.sources {
		if len(s.event.Behind.Fetch) == 0 {
			continue
		}
		if a.pointees == nil {
			a.pointees = &pointeeReader{formats: make(map[int]*ftrace.Format)}
			if err := a.pointees.open(); err != nil {
				return err
			}
		}
		if err := a.pointees.add(s, a.options.Nested); err != nil {
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
func (b *pointeeReader) open() error {
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
	if err := b.instance.Write("trace_clock", "mono"); err != nil { // perf's samples have the same clock
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
func (b *pointeeReader) add(s *source, nested bool) error {
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

// comparing returns the source's condition in terms of the event probe's record, or nil if it has none, and the
// fetch arguments that the condition compares: fields of the tracepoint. Fields that are not numbers are not
// compared, so each hit that passes the tracepoint's filter passes this one.
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

// filterPointees filters the event probes, so that hits without a sample leave no record either.
func (a *Attachment) filterPointees() {
	for _, s := range a.sources {
		if s.probed == nil || s.probed.filter == "" || s.sample.Filter == "" {
			continue
		}
		if err := a.pointees.instance.Write(eventDir(s.probed.format)+"filter", s.probed.filter); err != nil {
			a.Unfiltered = append(a.Unfiltered, fmt.Sprintf("the event probe on %s: %v", s.name, err))
		}
	}
}

// eventDir returns the directory of an event in the instance.
func eventDir(f *ftrace.Format) string { return "events/" + f.System + "/" + f.Name + "/" }

// start turns the event probes on. perf's events must be open: a tracepoint calls its handlers in the order in
// which they were added, so that each sample is followed by its record.
func (b *pointeeReader) start() error {
	for _, format := range b.formats {
		if err := b.instance.Write(eventDir(format)+"enable", "1"); err != nil {
			return fmt.Errorf("turn on an event probe: %w", err)
		}
	}
	return nil
}

// readEvery is the polling interval of the instance. Its buffer must not fill up in that time.
const readEvery = 20 * time.Millisecond

// collect reads the instance until stop is called.
func (b *pointeeReader) collect() (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(readEvery)
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

// read reads the records that the event probes have written by now. The caller holds the lock.
func (b *pointeeReader) read() {
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

// take returns the event probe's record of a sample's hit, or nil if it is lost. It waits for the record.
func (b *pointeeReader) take(s *source, sample *perfevent.Sample) []byte {
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

// matches reports whether the fields that both records have are equal.
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
func (b *pointeeReader) close() error {
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

// ofEventProbe returns a getter of a field in the event probe's record. The value is zero if that record is lost.
func (s *source) ofEventProbe(name string, src *check.Source) (getter, error) {
	f := s.probed.format.Field(name)
	if f == nil {
		return nil, fmt.Errorf("%s has no field %s", s.probed.format.Name, name)
	}
	return inRecord((*hit).pointeeRecord, recorded(f, src), src), nil
}

// inRecord returns a getter that applies get to another record of the hit. The value is zero if there
// is no such record.
func inRecord(record func(h *hit) []byte, get getter, src *check.Source) getter {
	return func(h *hit) value.Value {
		raw := record(h)
		if raw == nil {
			return value.Load(src.Type, "")
		}
		own := h.raw
		h.raw = raw
		v := get(h)
		h.raw = own
		return v
	}
}

// pointeeRecord returns the event probe's record of the hit, or nil if it is lost.
func (h *hit) pointeeRecord() []byte {
	if !h.probedTaken {
		h.probed, h.probedTaken = h.feed.Attachment.pointees.take(h.source, h.sample), true
		account := &h.feed.account
		account.Probed++
		if h.probed == nil {
			account.Unprobed++
		}
	}
	return h.probed
}
