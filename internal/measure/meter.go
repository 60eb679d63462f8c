package measure

import (
	"slices"
	"time"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/histogram"
	"github.com/ringtap/ringtap/internal/pair"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/perfevent"
)

// meter is a run under way. It belongs to the goroutine that handles the
// records.
type meter struct {
	opts    *Options
	self    uint32
	values  []*ftrace.Field // of each source; nil where calls are measured
	record  []byte          // that a source has made of a sample
	calls   *pair.Calls[stackKey]
	stacks  *stacks // nil if none were asked for
	rows    map[rowKey]*histogram.Histogram
	windows chan *Window
	due     uint64 // when the window under way is to end; 0: with the run
	end     uint64 // when the run is to end by its duration; 0 if it has none
	lost    uint64 // records that the rings have said were lost
	account Account
}

// rowKey is what a histogram is of.
type rowKey struct {
	function int
	stack    stackKey
}

func newMeter(o *Options) *meter {
	return &meter{
		opts: o, self: self(), calls: pair.New[stackKey](), rows: make(map[rowKey]*histogram.Histogram),
		windows: make(chan *Window, 1),
	}
}

func (m *meter) wantsStacks() bool { return m.opts.Stacks.User || m.opts.Stacks.Kernel }

// samplings is what is opened, one for each source.
func (m *meter) samplings() []perfevent.Sampling {
	var samplings []perfevent.Sampling
	for i := range m.opts.Sources {
		source := &m.opts.Sources[i]
		s := source.Sampling()
		if source.Role != probe.Return && m.wantsStacks() {
			m.opts.Stacks.Ask(&s)
		}
		if source.Role == probe.Hit {
			source.AskRecord(&s)
		} else {
			source.Site.Ask(&s)
		}
		samplings = append(samplings, s)
	}
	return samplings
}

// begin begins the first window.
func (m *meter) begin(now uint64) {
	if m.opts.Duration > 0 {
		m.end = now + uint64(m.opts.Duration)
	}
	if m.opts.Interval > 0 {
		m.next(now)
	}
}

// next sets when the window that begins then is to end: the last one does with
// the run, so that a second of five is not followed by a sixth of nothing.
func (m *meter) next(begin uint64) {
	m.due = begin + uint64(m.opts.Interval)
	if m.end > 0 && m.due >= m.end {
		m.due = 0
	}
}

// Due is when the window under way is to end.
func (m *meter) Due() (at uint64, ok bool) { return m.due, m.due > 0 }

// Tick ends the window under way.
func (m *meter) Tick() {
	m.next(m.due)
	if len(m.windows) < cap(m.windows) {
		m.windows <- m.window()
	}
}

// Record takes one record.
func (m *meter) Record(record perfevent.Record) error {
	sample, ok := record.(*perfevent.Sample)
	if !ok {
		m.other(record)
		return nil
	}
	m.calls.Confirm(sample.CPU, m.count)
	if sample.PID == m.self {
		m.account.Own++
		return nil
	}
	source := &m.opts.Sources[sample.Sampling]
	switch source.Role {
	case probe.Enter:
		task, slot := source.Site.Place(sample)
		m.calls.Enter(task, pair.Call[stackKey]{Function: source.Function, Slot: slot, Start: sample.Time, CPU: sample.CPU, Payload: m.stack(sample)})
	case probe.Return:
		task, slot := source.Site.Place(sample)
		if ended, ok := m.calls.Leave(task, source.Function, slot, sample.Time); ok && !m.calls.Hold(ended, sample.CPU) {
			m.count(ended)
		}
	case probe.Hit:
		m.value(source, sample)
	}
	return nil
}

// value counts the value that a sample tells.
func (m *meter) value(source *probe.Source, sample *perfevent.Sample) {
	record := sample.Raw
	if source.Record != nil {
		m.record = source.Record(m.record[:0], sample)
		record = m.record
	}
	v, ok := m.values[sample.Sampling].Int(record)
	if !ok {
		m.account.Unreadable++
		return
	}
	m.row(rowKey{source.Function, m.stack(sample)}).Add(v)
	m.account.Values++
}

// other takes a record that is no sample.
func (m *meter) other(record perfevent.Record) {
	if lost, ok := record.(*perfevent.Lost); ok {
		m.lost += lost.Lost
	}
	m.calls.Handle(record)
}

// count counts a call.
func (m *meter) count(e pair.Ended[stackKey]) {
	took := time.Duration(e.End - e.Start)
	m.row(rowKey{e.Function, e.Payload}).Add(int64(took / m.opts.Unit))
	m.account.Values++
}

// row returns the histogram of a row.
func (m *meter) row(key rowKey) *histogram.Histogram {
	h := m.rows[key]
	if h == nil {
		h = histogram.New(m.opts.Scale)
		m.rows[key] = h
	}
	return h
}

// settle decides about the calls that are open or uncertain at the end of the
// run, of which so many hits were lost.
func (m *meter) settle(lost uint64) {
	if lost > m.lost {
		m.calls.Lost()
	}
	m.calls.ConfirmAll(m.count)
	open, left := m.calls.Open()
	m.account.Before = m.calls.Counts.Unmatched
	m.account.Open = open
	m.account.Left = m.calls.Counts.Left + left
	m.account.Broken = m.calls.Counts.Broken
}

// window closes the window under way.
func (m *meter) window() *Window {
	w := &Window{End: time.Now()}
	keys := make([]rowKey, 0, len(m.rows))
	for key := range m.rows {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b rowKey) int { return m.compare(a, b) })
	if top := m.opts.Top; m.wantsStacks() && top > 0 && len(keys) > top {
		w.Rest = len(keys) - top
		keys = keys[w.Rest:]
	}
	for _, key := range keys {
		row := Row{Function: key.function, Histogram: m.rows[key]}
		if m.stacks != nil {
			row.Stack, row.Cut = m.stacks.names(key.stack)
		}
		w.Rows = append(w.Rows, row)
	}
	m.rows = make(map[rowKey]*histogram.Histogram)
	return w
}

// compare orders rows: by values, then by what they are of.
func (m *meter) compare(a, b rowKey) int {
	if x, y := m.rows[a].Count(), m.rows[b].Count(); x != y {
		if x < y {
			return -1
		}
		return 1
	}
	if a.function != b.function {
		return a.function - b.function
	}
	return a.stack.compare(b.stack)
}
