package stack

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/atsample"
	"github.com/ringtap/ringtap/perfevent"
)

// isDeep reports whether a sample's stack goes on beyond the copy. The copy may be short: the kernel
// copies up to the first page that the program has not used yet.
func isDeep(stacker *Stacker, user User) bool {
	return stacker.Beyond && user.End == callchain.Cut && user.Found
}

// deepen starts reading the stacks of p beyond their copies at its next samples, because the stack
// of sample is cut. known is what was read of that stack in addition to the copy.
func (s *Store) deepen(stacker *Stacker, p *process.Process, sample *perfevent.Sample, known *atsample.Calls) {
	if s.runtimes.reader == nil {
		return
	}
	h := s.runtimes.hosted(s.processes.Host(), p)
	if h.cut == 0 {
		h.cut = sample.Time
	}
	if h.deep || sample.Time >= h.cut+stacker.Settle {
		h.deep = true
		s.runtimes.reader.ReadDeepStacks(p, known)
	}
}

// muchBeyond is how many bytes must have been read in vain before tellTop reports it.
const muchBeyond = 64 << 10

// tellTop reports where a whole stack ends, if much more was read beyond the copy. It also reports
// a large gap that unwinding skipped.
func (s *Store) tellTop(p *process.Process, beyond callchain.Beyond, user *User) {
	if user.reach > 0 && user.reach+muchBeyond < beyond.End() {
		s.runtimes.reader.MarkEnd(p, pageAfter(user.reach))
	}
	if from, to := pageAfter(user.gap[0]), user.gap[1]; from+muchBeyond < min(to, beyond.From+uint64(len(beyond.Pages))*callchain.PageSize) {
		s.runtimes.reader.MarkDead(p, from, to)
	}
}

// pageAfter rounds an address up to a page.
func pageAfter(addr uint64) uint64 {
	return (addr + callchain.PageSize - 1) &^ (callchain.PageSize - 1)
}
