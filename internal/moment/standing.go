package moment

import (
	"hash/maphash"
	"slices"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/perfevent"
	"github.com/ringtap/ringtap/perfevent/near"
)

// standing reads the stacks of threads that wait behind the samples' copies of them. Equal pages are
// kept once.
type standing struct {
	seed  maphash.Seed
	known []*callchain.Page // each at the place of its hash
	room  []byte
	// across finds the other stacks that a stack leads to.
	across crossings
}

func newStanding() standing {
	return standing{seed: maphash.MakeSeed(), known: make([]*callchain.Page, tablePages(1)), room: make([]byte, roomPages*callchain.PageSize), across: newCrossings()}
}

// copied is what a sample has of its stack.
type copied struct{ sp, end uint64 }

// copiedOf is what a sample has; nothing if its registers are not known.
func copiedOf(s *perfevent.Sample) copied {
	_, sp, _, ok := callchain.Host().Frame(s.Regs.Mask, s.Regs.Values)
	if !ok {
		return copied{}
	}
	return copied{sp, sp + uint64(len(s.Stack))}
}

// behind is what lies behind a copy, up to the end of the area of the stack: nothing for most.
func (c copied) behind(areas []area) area {
	a := areaOf(areas, c.sp)
	if c.end >= a.end {
		return area{}
	}
	a.start = c.end &^ (callchain.PageSize - 1)
	if a.over > 0 && a.end-a.start < topBytes {
		a.over = 0
	}
	return a
}

// others reads the other stacks that a thread's stack leads to.
func (s *standing) others(memory *timedMemory, known *stackNews, of copied, to *Calls) {
	c := &s.across
	c.find(memory, known.crossings, known.areas, of.sp)
	for _, a := range c.stacks {
		to.Others = append(to.Others, callchain.Stretch{From: a.start, Pages: s.pages(memory, a.start, a.end)})
	}
	to.Goroutines = slices.Clone(c.goroutines)
}

// read reads a stack behind a copy, as far as the memory lets it.
func (s *standing) read(memory *timedMemory, areas []area, of copied) (b callchain.Beyond) {
	a := of.behind(areas)
	if a.end == 0 {
		return b
	}
	if a.over > 0 || a.end-a.start >= muchBeyond {
		if pages := s.pages(memory, a.end-topBytes, a.end); pages != nil {
			b.Top = callchain.Stretch{From: a.end - topBytes, Pages: pages}
		}
	}
	end := min(a.end, a.start+mostBeyond)
	if a.over > 0 {
		end = min(end, a.over)
	}
	b.Stretch = callchain.Stretch{From: a.start, Pages: s.pages(memory, a.start, end)}
	return b
}

// pages are those between two addresses, up to what can't be read.
func (s *standing) pages(memory *timedMemory, from, to uint64) (list []*callchain.Page) {
	for from < to {
		room := s.room[:min(uint64(len(s.room)), to-from)]
		if !memory.Read(from, room) {
			break
		}
		from += uint64(len(room))
		for ; len(room) >= callchain.PageSize; room = room[callchain.PageSize:] {
			list = append(list, s.page((*callchain.Page)(room)))
		}
	}
	return list
}

// page is a page that is kept, with the bytes of another one.
func (s *standing) page(like *callchain.Page) *callchain.Page {
	place := &s.known[placeOf(maphash.Bytes(s.seed, like[:]), len(s.known))]
	if *place == nil || **place != *like {
		page := *like
		*place = &page
	}
	return *place
}

// maxNews bounds what is to be heard of stacks.
const maxNews = 1 << 10

// deepen has the stacks of a process read from its next waits on, as wants says. One was not whole, of which
// that is known.
func (l *leisure) deepen(p *process.Process, known *Calls, wants ...news) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.targets[uint32(p.PID)]
	switch isNew := t == nil || t.process != p; {
	case isNew && l.add(newReads(p, nil)) != nil:
		return
	case isNew:
		t = l.targets[uint32(p.PID)]
	}
	t.uneven = t.uneven || t.over && len(known.Beyond.Top.Pages) > 0
	now, all := perfevent.Now(), t.wants
	for _, n := range wants {
		if !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	isKnown := len(all) == len(t.wants)
	if isKnown && (known.Kind != near.Exact || now < t.asked+askAgain) || len(l.news)+len(wants) > maxNews {
		return
	}
	t.wants, t.asked = all, now
	l.news = append(l.news, wants...)
}

// tell tells something of a process's stacks.
func (l *leisure) tell(p *process.Process, n news) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.targets[uint32(p.PID)]
	if t == nil || t.process != p || len(l.news) >= maxNews || n.what == overOf && t.uneven {
		return
	}
	t.over = t.over || n.what == overOf
	l.news = append(l.news, n)
}
