package measure

import (
	"testing"
	"time"

	"github.com/ringtap/ringtap/internal/histogram"
	"github.com/ringtap/ringtap/internal/pair"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/perfevent"
)

// newTestMeter measures one user function: source 0 is its entry, 1 its return.
func newTestMeter(o Options) *meter {
	o.Sources = []probe.Source{{Role: probe.Enter}, {Role: probe.Return, Site: pair.Site{Return: true}}}
	o.Functions = []string{"f"}
	o.Scale, o.Unit = histogram.Log2(), time.Nanosecond
	m := newMeter(&o)
	m.begin(0)
	return m
}

// sample is a hit of an event by thread 1 with its frame at 0x1000.
func sample(event int, at uint64, cpu uint32) *perfevent.Sample {
	site := pair.Site{Return: event == 1}
	var sampling perfevent.Sampling
	site.Ask(&sampling)
	s := &perfevent.Sample{
		Header:   perfevent.Header{PID: 1, TID: 1, Time: at, CPU: cpu},
		Sampling: event,
		Regs:     perfevent.Registers{ABI: 2, Mask: sampling.UserRegs, Values: []uint64{0x1000}},
	}
	_, slot := site.Place(s)
	s.Regs.Values[0] += 0x1000 - slot
	return s
}

func hand(t *testing.T, m *meter, records ...perfevent.Record) {
	t.Helper()
	for _, r := range records {
		advance(m, r.Common().Time)
		if err := m.Record(r); err != nil {
			t.Fatal(err)
		}
	}
}

// advance ticks up to a time, as a run.Engine does.
func advance(m *meter, now uint64) {
	for at, ok := m.Due(); ok && now >= at; at, ok = m.Due() {
		m.Tick()
	}
}

func TestACallThatChangesCPUsCountsOnceTheFirstHasLostNothing(t *testing.T) {
	lost := &perfevent.Lost{Header: perfevent.Header{Time: 30, CPU: 2}, Lost: 3}
	other := sample(0, 30, 2)
	other.TID = 9
	for _, test := range []struct {
		name           string
		then           []perfevent.Record
		lost           uint64 // in all, by the kernel's count
		values, broken uint64
	}{
		{"a later record of the first", []perfevent.Record{other}, 0, 1, 0},
		{"the first has lost records", []perfevent.Record{lost}, 3, 0, 1},
		{"nothing comes any more", nil, 0, 1, 0},
		{"nothing comes any more, but there are losses", nil, 1, 0, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := newTestMeter(Options{})
			hand(t, m, sample(0, 10, 2), sample(1, 20, 3))
			if m.account.Values != 0 {
				t.Errorf("it counts at once")
			}
			hand(t, m, test.then...)
			m.settle(test.lost)
			if m.account.Values != test.values || m.account.Broken != test.broken {
				t.Errorf("%d values, %d given up; want %d, %d", m.account.Values, m.account.Broken, test.values, test.broken)
			}
		})
	}
}

func TestCallsBelongToTheWindowInWhichTheyEnd(t *testing.T) {
	m := newTestMeter(Options{Interval: 100})
	hand(t, m, sample(0, 10, 0), sample(1, 20, 0), sample(0, 90, 0), sample(1, 190, 0))
	first := <-m.windows
	advance(m, 200)
	second := <-m.windows
	for i, w := range []*Window{first, second} {
		if len(w.Rows) != 1 || w.Rows[0].Histogram.Count() != 1 {
			t.Fatalf("window %d has %+v, want one call", i, w.Rows)
		}
	}
	if got := second.Rows[0].Histogram.Buckets()[0]; got.Low != 64 {
		t.Errorf("the call of 100 ns is in %+v", got)
	}
}

func TestAWindowThatCantBePrintedGoesOn(t *testing.T) {
	m := newTestMeter(Options{Interval: 100})
	advance(m, 100) // fills the way to the printer
	hand(t, m, sample(0, 110, 0), sample(1, 120, 0), sample(0, 210, 0), sample(1, 220, 0))
	<-m.windows
	advance(m, 300)
	if w := <-m.windows; len(w.Rows) != 1 || w.Rows[0].Histogram.Count() != 2 {
		t.Errorf("the window has %+v, want both calls", w.Rows)
	}
}

// Records that come a little after the run's time are no window of their own.
func TestTheLastWindowEndsWithTheRun(t *testing.T) {
	m := newTestMeter(Options{Interval: 100, Duration: 200})
	hand(t, m, sample(0, 10, 0), sample(1, 20, 0))
	advance(m, 100)
	if w := <-m.windows; len(w.Rows) != 1 {
		t.Errorf("the first window has %+v, want one call", w.Rows)
	}
	hand(t, m, sample(0, 110, 0), sample(1, 120, 0), sample(0, 210, 0), sample(1, 220, 0))
	advance(m, 230)
	if n := len(m.windows); n != 0 {
		t.Fatalf("%d windows end before the run does", n)
	}
	if h := m.window().Rows[0].Histogram; h.Count() != 2 {
		t.Errorf("the last window has %d calls, want 2", h.Count())
	}
}

func TestOurOwnCallsAreLeftOut(t *testing.T) {
	m := newTestMeter(Options{})
	enter, leave := sample(0, 10, 0), sample(1, 20, 0)
	enter.PID, leave.PID = m.self, m.self
	hand(t, m, enter, leave)
	if m.account.Own != 2 || m.account.Values != 0 {
		t.Errorf("%d hits are our own, %d values; want 2 and 0", m.account.Own, m.account.Values)
	}
}

func TestEachIdleTaskIsOneOfItsOwn(t *testing.T) {
	m := newTestMeter(Options{})
	var idle []perfevent.Record
	for _, s := range []*perfevent.Sample{sample(0, 10, 0), sample(0, 20, 1), sample(1, 30, 0), sample(1, 50, 1)} {
		s.PID, s.TID = 0, 0
		idle = append(idle, s)
	}
	hand(t, m, idle...)
	h := m.rows[rowKey{0, noStack}]
	if h == nil || h.Count() != 2 || h.Total().Int64() != 20+30 {
		t.Errorf("the idle tasks' calls took %v, want 20 and 30", h)
	}
}
