package follow

import (
	"github.com/ringtap/ringtap/internal/run"
	"github.com/ringtap/ringtap/perfevent"
)

// prepareMoments has the calls of interpreted code known at the first hits already, of processes that run
// now.
func (f *follower) prepareMoments(source run.Source) {
	if f.moments == nil {
		return
	}
	f.stacks.store.Moments(f.moments)
	for _, pid := range run.Watched(source) {
		f.stacks.store.Prepare(f.processes.Process(pid))
	}
	f.moments.Wait()
}

// seen is Options.Seen, which is offered no samples but those of its caller's events.
func (f *follower) seen() func(perfevent.Record) {
	if f.moments == nil || f.opts.Seen == nil {
		return f.opts.Seen
	}
	known := len(f.opts.Sources) + len(f.opts.Aside)
	return func(record perfevent.Record) {
		if sample, ok := record.(*perfevent.Sample); !ok || sample.Sampling < known {
			f.opts.Seen(record)
		}
	}
}

// momentNotes says how they are known, and why they are not.
func (f *follower) momentNotes() (notes []string) {
	if f.moments != nil {
		notes = f.moments.Notes(f.stacks.calls)
	}
	for _, err := range f.stacks.errors() {
		notes = append(notes, err.Error())
	}
	return notes
}

func (f *follower) closeMoments() {
	if err := f.moments.Close(); err != nil {
		f.opts.Logger.Warn("the reader of interpreted functions did not end well", "error", err)
	}
}
