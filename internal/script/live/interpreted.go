package live

import (
	"slices"

	"github.com/ringtap/ringtap/internal/moment"
	"github.com/ringtap/ringtap/internal/probe"
	"github.com/ringtap/ringtap/internal/run"
	"github.com/ringtap/ringtap/internal/script/plan"
	"github.com/ringtap/ringtap/perfevent"
)

// interpreted has the calls of interpreted code at the hits of a run.
type interpreted struct {
	reader *moment.Reader // nil: no stack asks for them
	pace   moment.Pace
	hits   uint64 // of sources that ask for them
}

// askMoments has the user stacks of sources show functions of interpreted code, where that can be. Memory
// that is read at once needs the rings for itself.
func (f *feed) askMoments() {
	if !f.options.Near || f.isUrgent() {
		return
	}
	for _, s := range f.sources {
		s.stacks.Moments = s.stacks.User && canVisit(s)
		s.stacks.Beyond = s.stacks.Moments
	}
}

// canVisit tells whether a helper can visit the threads of hits: it knows how often they come, or has some of them
// only wake it.
func canVisit(s *source) bool {
	switch s.event.Place {
	case plan.User, plan.Tracepoint:
		return !probe.Recur([]probe.Source{*s.probe})
	case plan.Sampled:
		return s.event.Sample.Kind == "profile"
	}
	return false
}

// wantsMoments tells whether any source asks for functions of interpreted code.
func (f *feed) wantsMoments() bool {
	return slices.ContainsFunc(f.sources, func(s *source) bool { return s.stacks.Moments })
}

// readMoments begins to read at the samples of a session.
func (f *feed) readMoments(session *perfevent.Session, samplings []perfevent.Sampling) {
	var frequency uint64
	for i, s := range f.sources {
		switch at := &samplings[i]; {
		case !s.stacks.Moments:
		case s.event.Place != plan.Sampled:
			frequency = moment.Rate
		case at.Frequency > 0:
			frequency = max(frequency, at.Frequency)
		default:
			frequency = max(frequency, 1e9/at.Period) // nanoseconds of a clock
		}
	}
	f.interpreted.reader = moment.New(session, frequency, nil, f.options.Logger)
	f.interpreted.pace = moment.NewPace(samplings, nil, 0)
}

// prepareMoments has the calls known at the first hits already, of processes that run now.
func (f *feed) prepareMoments(source run.Source) {
	reader := f.interpreted.reader
	if reader == nil {
		return
	}
	f.stacks.store.Moments(reader)
	for _, pid := range run.Watched(source) {
		f.stacks.store.Prepare(f.processes.Process(pid))
	}
	reader.Wait()
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
	if in := &f.interpreted; in.reader != nil {
		var hits uint64
		f.engine.Locked(func() { hits = in.hits })
		in.pace.Look(in.reader, moment.Hits{All: hits}, before)
	}
	return nil
}

var _ run.Rounded = (*feed)(nil)

// isHelper tells whether a process is one that reads memory for the run.
func (f *feed) isHelper(pid uint32) bool {
	switch {
	case pid == 0:
		return false
	case f.userTexts != nil && pid == f.userTexts.Helper():
		return true
	}
	return slices.Contains(f.helpers, pid) || f.interpreted.reader != nil && f.interpreted.reader.IsHelper(pid)
}

func (f *feed) closeMoments() {
	if err := f.interpreted.reader.Close(); err != nil {
		f.options.Logger.Warn("the reader of interpreted functions did not end well", "error", err)
	}
}
