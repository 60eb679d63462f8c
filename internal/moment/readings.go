package moment

import (
	"maps"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/perfevent"
)

// maxStanding bounds the bytes of stacks that nobody has asked for.
const maxStanding = 48 << 20

// bytesOf is how many bytes a reading has of a stack.
func bytesOf(c *Calls) int {
	pages := len(c.Beyond.Pages) + len(c.Beyond.Top.Pages)
	for i := range c.Others {
		pages += len(c.Others[i].Pages)
	}
	return pages * callchain.PageSize
}

// keep keeps a reading of samples for those who ask.
func (l *leisure) keep(r reading, samples []sampled) {
	if len(l.readings)+len(samples) > maxReadings {
		clear(l.readings)
		l.held = 0
	}
	for _, s := range samples {
		if l.held+bytesOf(&r.calls) > maxStanding {
			r.calls.Beyond, r.calls.Others = callchain.Beyond{}, nil
		}
		l.drop(s)
		l.held += bytesOf(&r.calls)
		l.readings[s] = r
	}
}

// drop forgets the reading of a sample, and returns it.
func (l *leisure) drop(s sampled) reading {
	r := l.readings[s]
	l.held -= bytesOf(&r.calls)
	delete(l.readings, s)
	return r
}

// at returns the calls of a sample that begins a wait, once it is known whether they were read.
func (l *leisure) at(s *perfevent.Sample) Calls {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asked = max(l.asked, s.Time)
	t := l.targets[s.PID]
	if t == nil {
		return Calls{}
	}
	for !l.over && (t.isNew || l.progress <= s.Time) && perfevent.Now() < s.Time+uint64(patience) {
		l.changed.Wait()
	}
	r := l.drop(sampled{s.CPU, s.TID, s.Time})
	if r.by != t {
		return Calls{} // the process was another program
	}
	return r.calls
}

// sweep forgets processes that have ended, and readings that nobody has asked for.
func (l *leisure) sweep() {
	for s := range l.readings {
		if s.time+uint64(forgotten) < l.swept {
			l.drop(s)
		}
	}
	l.targets = maps.Clone(l.targets)
	maps.DeleteFunc(l.targets, func(pid uint32, _ *reads) bool {
		ended := unix.Kill(int(pid), 0) == unix.ESRCH
		if ended {
			delete(l.waits.wanted, pid)
		}
		return ended
	})
}
