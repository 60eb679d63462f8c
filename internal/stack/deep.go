package stack

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// isDeep tells whether a sample's stack is cut short though much of it was copied.
func isDeep(by *Stacker, user User, sample *perfevent.Sample) bool {
	return by.Beyond && user.End == callchain.Cut && user.Found && len(sample.Stack) >= fastCopy
}

// deepen has the stacks of a process read beyond the copies from its next samples on.
func (s *Store) deepen(p *process.Process) {
	if s.runtimes.moments == nil {
		return
	}
	s.runtimes.hosted(s.processes.Host(), p).deep = true
	s.runtimes.moments.Deepen(p)
}

// muchBeyond is how many bytes are read in vain that it is worth to say so.
const muchBeyond = 64 << 10

// tellTop says where a whole stack ends, if what was read beyond the copy goes on.
func (s *Store) tellTop(p *process.Process, beyond callchain.Beyond, reach uint64) {
	if reach > 0 && reach+muchBeyond < beyond.End() {
		s.runtimes.moments.Top(p, (reach+callchain.PageSize-1)&^(callchain.PageSize-1))
	}
}
