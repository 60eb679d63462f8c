package live

import (
	"slices"

	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/perfevent"
)

// interpreted chooses at which hits of a run the calls of interpreted code are read.
type interpreted struct {
	throttle atsample.WakeupThrottle
	hits     uint64 // of sources that ask for them
}

// askInterpreted makes user stacks show functions of interpreted code at all sources where that is possible. It is
// not possible in urgent runs (see isUrgent), which need the rings for themselves.
func (f *feed) askInterpreted() {
	if !f.options.Near || f.isUrgent() {
		return
	}
	for _, s := range f.sources {
		s.stacks.Interpreted = s.stacks.User && canVisit(s)
		s.stacks.Beyond = s.stacks.Interpreted
	}
}

// canVisit reports whether a helper can read the calls of interpreted code at the hits of a source. Hits must come
// at a known rate, or ringtap must be able to choose how many of them wake the helper.
func canVisit(s *source) bool {
	switch s.event.Place {
	case plan.User, plan.Tracepoint:
		return !probe.Recur([]probe.Source{*s.probe})
	case plan.Sampled:
		return s.event.Sample.Kind == "profile"
	}
	return false
}

// wantsInterpreted reports whether any source asks for functions of interpreted code.
func (f *feed) wantsInterpreted() bool {
	return slices.ContainsFunc(f.sources, func(s *source) bool { return s.stacks.Interpreted })
}

// calls returns how the engine reads the calls of interpreted code, or nil if no source asks for them.
func (f *feed) calls(samplings []perfevent.Sampling) *engine.Calls {
	if !f.wantsInterpreted() {
		return nil
	}
	var frequency uint64
	for i, s := range f.sources {
		switch at := &samplings[i]; {
		case !s.stacks.Interpreted:
		case s.event.Place != plan.Sampled:
			frequency = atsample.MaxVisitRate
		case at.Frequency > 0:
			frequency = max(frequency, at.Frequency)
		default:
			frequency = max(frequency, 1e9/at.Period) // nanoseconds of a clock
		}
	}
	return &engine.Calls{Frequency: frequency}
}

// Round adapts the copies of the stack, and chooses how many hits wake the helper.
func (f *feed) Round(before uint64) error {
	exceed := false
	for _, c := range f.copies {
		exceed = c.look(f, before) || exceed
	}
	if exceed {
		return nil // smaller copies are more urgent
	}
	if calls := f.engine.Calls(); calls != nil {
		var hits uint64
		f.engine.Locked(func() { hits = f.interpreted.hits })
		f.interpreted.throttle.Adjust(calls, atsample.Hits{All: hits}, before)
	}
	return nil
}

var _ engine.Rounded = (*feed)(nil)

// isHelper reports whether a process is one that reads memory for the run.
func (f *feed) isHelper(pid uint32) bool {
	if pid == 0 {
		return false
	}
	calls := f.engine.Calls()
	return f.texts != nil && pid == f.texts.Helper() || f.userTexts != nil && pid == f.userTexts.Helper() || pid == f.reader.Helper() ||
		calls != nil && calls.IsHelper(pid)
}
