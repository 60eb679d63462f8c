package live

import (
	"github.com/ringtap/ringtap/internal/run"
	"github.com/ringtap/ringtap/internal/script/plan"
	"github.com/ringtap/ringtap/perfevent"
)

// markEarly marks the sources whose hits a clause can handle where they lie in the ring. Copying them to the
// spool is most of what a storm of hits costs ringtap. Only clauses that aggregate qualify: they never wait,
// as a clause that prints does. Nor may they read files of /proc, which takes longer than a hit.
func (f *feed) markEarly() {
	if !f.aggregates || f.behind != nil || f.iterated != nil || f.texts != nil || f.userTexts != nil {
		return
	}
	for _, s := range f.sources {
		s.early = !s.readsMemory() && s.calls == nil && s.entry == nil && s.probed == nil && s.repeats == nil && s.others == nil &&
			len(s.event.Keeps)+len(s.event.Kept)+len(s.event.Pieces) == 0 && s.isRecorded()
	}
}

// isRecorded reports whether the records of a source have all values that its clauses take.
func (s *source) isRecorded() bool {
	for _, use := range s.event.Uses {
		for _, field := range use.Fields {
			switch field.From {
			case plan.Record, plan.UserStack, plan.KernelStack:
			default:
				return false
			}
		}
	}
	return true
}

// MayPass implements run.Early.
func (f *feed) MayPass(record perfevent.Record, next bool) bool {
	s, ok := record.(*perfevent.Sample)
	return ok && s.Sampling < len(f.sources) && f.sources[s.Sampling].early && (next || f.commutes)
}

// Early implements run.Early. A hit whose stack is in a file that ringtap has yet to read is left to Record.
func (f *feed) Early(record perfevent.Record) bool {
	sample := record.(*perfevent.Sample)
	if f.ended || f.phase.Load() != running {
		return false
	}
	source := f.sources[sample.Sampling]
	if !source.stacks.User || sample.PID == f.self || f.isHelper(sample.PID) {
		f.hits(sample)
		return true
	}
	f.processes.CachedOnly(true)
	user := f.stacks.store.User(source.stacker, f.processes.Process(int(int32(sample.PID))), sample)
	refused := f.processes.Refused()
	f.processes.CachedOnly(false)
	if refused {
		return false
	}
	f.unwound = &user
	f.hits(sample)
	f.unwound = nil
	return true
}

var _ run.Early = (*feed)(nil)
