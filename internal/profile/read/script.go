package read

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/profile"
)

// maxEvents is the number of events that a profile has as metrics. Samples of further events are
// left out with a note: each row has a value for each metric.
const maxEvents = 32

// script reads the text of perf script (perf-script(1), tools/perf/builtin-script.c): a head for
// each sample, and its call chain, leaf first, up to a blank line. Each event is a metric that
// adds up the periods, or the samples of a text without periods. The first event is the first
// metric.
type script struct {
	b       *builder
	metrics map[string]int // by event
	leftOut uint64         // samples of events that are left out
	inside  bool           // after the head of a sample
	skip    bool           // the sample or record is left out
	metric  int
	process int
	weight  uint64
	frames  []int // leaf first
	inlined []string
}

func newScript() *script {
	return &script{b: newBuilder("perf script"), metrics: make(map[string]int)}
}

func (s *script) line(text []byte) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return s.end()
	}
	blank := text[0] == ' ' || text[0] == '\t'
	c, isCall := parseCall(text)
	if s.inside && text[0] == '\t' && isCall {
		s.call(c)
		return nil
	}
	// Without call chains, perf aligns the names of processes to the right.
	if h, ok := parseHead(text); ok {
		if err := s.end(); err != nil {
			return err
		}
		s.begin(h)
		return nil
	}
	switch {
	case s.inside && isCall && (blank || len(c.file) > 0):
		s.call(c)
	case s.inside && blank: // a source line (perf script -F +srcline), for example
	default:
		return fmt.Errorf("it is neither the head of a sample nor a call: %.60q", text)
	}
	return nil
}

// begin starts a sample.
func (s *script) begin(h head) {
	s.inside, s.skip = true, true
	if h.record {
		return
	}
	metric, found := s.metrics[string(h.event)]
	if !found {
		metric = s.newMetric(string(h.event), h.hasPeriod)
	}
	if metric < 0 {
		s.leftOut++
		return
	}
	s.skip = false
	s.metric, s.weight = metric, h.weight
	s.process = s.b.process(profile.Process{PID: h.pid, NSPID: h.pid, TGID: h.pid, Comm: s.b.name(h.comm)})
	if c, ok := h.call(); ok {
		s.call(c)
	}
}

// newMetric returns the metric of a new event, or -1 if there are too many.
func (s *script) newMetric(event string, hasPeriod bool) int {
	m := len(s.b.p.Metrics)
	if m == maxEvents {
		return -1
	}
	s.metrics[event] = m
	name, unit := event, "counts"
	if name == "" {
		name = "samples"
	}
	if base, _, _ := strings.Cut(event, ":"); hasPeriod && (base == "cpu-clock" || base == "task-clock") {
		unit = "nanoseconds"
	}
	s.b.p.Metrics = append(s.b.p.Metrics, profile.Metric{Name: name, Type: name, Unit: unit, Scale: 1, Running: runs(event)})
	s.b.p.Accounts = append(s.b.p.Accounts, profile.Account{Event: name})
	if m == 0 {
		s.b.p.Event = name
	}
	return m
}

// runs reports whether an event counts what happens while the leaf of its stack runs. Tracepoints and
// probes happen in the function that reports them: "sched:sched_switch".
func runs(event string) bool {
	_, modifiers, _ := strings.Cut(event, ":")
	return strings.Trim(modifiers, "ukhpPGHSDWebIR") == ""
}

// call adds a call to the sample's chain.
func (s *script) call(c call) {
	if s.skip {
		return
	}
	if c.inlined {
		s.inlined = append(s.inlined, s.b.name(c.name))
		return
	}
	object := s.b.object(s.b.name(c.file))
	if len(c.file) == 0 && c.address>>63 != 0 {
		object = 0 // the kernel has the upper half of the addresses
	}
	slices.Reverse(s.inlined)
	s.frames = append(s.frames, s.b.frame(object, s.b.name(c.name), c.address, c.offset, s.inlined))
	s.inlined = s.inlined[:0]
}

// end counts the sample.
func (s *script) end() error {
	inside := s.inside && !s.skip
	s.inside = false
	if !inside {
		return nil
	}
	// A chain that ends in inlined functions has lost the function that contains them.
	for _, name := range s.inlined {
		s.frames = append(s.frames, s.b.frame(s.b.object(""), name, 0, 0, nil))
	}
	slices.Reverse(s.frames)
	row := s.b.row(s.process, s.frames)
	a := &s.b.p.Accounts[s.metric]
	a.Received++
	if len(s.frames) > 0 {
		a.Stacks++
	}
	s.frames, s.inlined = s.frames[:0], s.inlined[:0]
	s.b.p.Metrics[s.metric].Squares += float64(s.weight) * float64(s.weight)
	return s.b.count(row, s.metric, s.weight)
}

func (s *script) finish() (*profile.Profile, error) {
	if err := s.end(); err != nil {
		return nil, err
	}
	if len(s.b.p.Metrics) == 0 {
		return nil, fmt.Errorf("it has no samples, only other records of perf script")
	}
	if s.leftOut > 0 {
		s.b.p.Notes = append(s.b.p.Notes, fmt.Sprintf("%d samples of further events are left out: a profile has %d events at most", s.leftOut, maxEvents))
	}
	return s.b.finish()
}
