package live

import (
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/engine"
	"github.com/ringtap/ringtap/perfevent"
)

// markEarly marks the sources whose hits clauses can handle directly in the ring. Copying hits to the spool is
// most of what a storm of hits costs ringtap. The clauses must do nothing but aggregate, because a clause that
// prints may wait. They must not read files of /proc either, which takes longer than a hit.
func (f *feed) markEarly() {
	if !f.aggregates || f.pointees != nil || f.iterated != nil || f.texts != nil || f.userTexts != nil {
		return
	}
	for _, s := range f.sources {
		s.early = !s.readsMemory() && s.calls == nil && s.entry == nil && s.probed == nil && s.repeats == nil && s.exclusion == nil &&
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

// MayPass implements engine.Early.
func (f *feed) MayPass(record perfevent.Record, next bool) bool {
	s, ok := record.(*perfevent.Sample)
	return ok && s.Sampling < len(f.sources) && f.sources[s.Sampling].early && (next || f.commutes)
}

// Early implements engine.Early. A hit whose stack is in a file that ringtap has yet to read is left to Record.
func (f *feed) Early(record perfevent.Record) bool {
	sample := record.(*perfevent.Sample)
	if _, ending := f.engine.Ending(); f.ended || ending {
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

var _ engine.Early = (*feed)(nil)
