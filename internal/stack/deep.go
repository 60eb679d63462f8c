package stack

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/moment"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
)

// isDeep reports whether a sample's stack goes on behind the copy. That may be short: the kernel copies up
// to the first page that the program has not used yet.
func isDeep(by *Stacker, user User) bool {
	return by.Beyond && user.End == callchain.Cut && user.Found
}

// deepen has the stacks of a process read beyond the copies from its next samples on, as that of a sample
// is cut, of which that is known beside the copy.
func (s *Store) deepen(by *Stacker, p *process.Process, sample *perfevent.Sample, known *moment.Calls) {
	if s.runtimes.moments == nil {
		return
	}
	h := s.runtimes.hosted(s.processes.Host(), p)
	if h.cut == 0 {
		h.cut = sample.Time
	}
	if h.deep || sample.Time >= h.cut+by.Settle {
		h.deep = true
		s.runtimes.moments.Deepen(p, known)
	}
}

// muchBeyond is how many bytes are read in vain that it is worth to say so.
const muchBeyond = 64 << 10

// tellTop says where a whole stack ends, if what was read beyond the copy goes on, and where it leads
// over much of that.
func (s *Store) tellTop(p *process.Process, beyond callchain.Beyond, user *User) {
	if user.reach > 0 && user.reach+muchBeyond < beyond.End() {
		s.runtimes.moments.Top(p, pageAfter(user.reach))
	}
	if from, to := pageAfter(user.gap[0]), user.gap[1]; from+muchBeyond < min(to, beyond.From+uint64(len(beyond.Pages))*callchain.PageSize) {
		s.runtimes.moments.Over(p, from, to)
	}
}

// pageAfter is where the first page begins that lies behind all below an address.
func pageAfter(addr uint64) uint64 {
	return (addr + callchain.PageSize - 1) &^ (callchain.PageSize - 1)
}
