package moment

import (
	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/process"
)

// Deepen has the stacks of a process read behind the copies of its samples, where those are
// visited or begin a wait. It is to be called again if a stack is not whole for all that, with what
// was known of it.
func (r *Reader) Deepen(p *process.Process, known *Calls) {
	if r.leisure != nil {
		r.leisure.deepen(p, known, news{what: beyondOf, pid: p.PID})
	}
	if r.share == 0 || known.inVain {
		return
	}
	r.visit(p, nil, news{what: beyondOf, pid: p.PID})
	if len(known.Beyond.Top.Pages) > 0 {
		r.mu.Lock()
		defer r.mu.Unlock()
		if t := r.watched[p.PID]; t != nil {
			t.uneven = t.uneven || t.over
		}
	}
}

// Cross starts reading the other stacks of p, which crossings lead to. Call it again if a later stack still
// lacks callers; known is what was read at that sample.
func (r *Reader) Cross(p *process.Process, crossings []callchain.Crossing, known *Calls) {
	wants := make([]news, 0, maxCrossings)
	for _, c := range crossings[:min(len(crossings), maxCrossings)] {
		n := news{goesIntoC, p.PID, c.Start, c.End}
		if c.IntoGo {
			n.what = goesIntoGo
		}
		wants = append(wants, n)
	}
	if r.leisure != nil {
		r.leisure.deepen(p, known, wants...)
	}
	if r.share > 0 && !known.inVain {
		r.visit(p, nil, wants...)
	}
}

// Over says that the chains of stacks of a process which lie below an address lead over what lies between
// it and another one, which then need not be read. Where that turns out wrong, all is read again.
func (r *Reader) Over(p *process.Process, from, to uint64) {
	if r.leisure != nil {
		r.leisure.tell(p, news{overOf, p.PID, from, to})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.watched[p.PID]; t != nil && !t.uneven && r.tell(p, to, news{overOf, p.PID, from, to}) {
		t.over = true
	}
}

// Top says that no stack of a process which lies below an address goes on beyond it: what is there
// need not be read.
func (r *Reader) Top(p *process.Process, addr uint64) {
	n := news{what: topOf, pid: p.PID, addr: addr}
	if r.leisure != nil {
		r.leisure.tell(p, n)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tell(p, addr, n)
}

// tell tells the helper something of a stack that ends there, once.
func (r *Reader) tell(p *process.Process, end uint64, n news) bool {
	t := r.watched[p.PID]
	if t == nil || t.process != p || t.since == 0 || r.helper == nil || t.tops[end] || len(t.tops) >= maxTops {
		return false
	}
	if t.tops == nil {
		t.tops = make(map[uint64]bool)
	}
	t.tops[end] = true
	_ = r.helper.Tell(n.message()) // one that has ended says so by Read
	return true
}

// maxTops bounds the stacks of a process whose ends are known.
const maxTops = 1 << 8

// mostVain is how many readings of deep stacks in a row may not be exact, of a process at a probe or of another
// sampling. There are instructions at which the kernel changes more than package near can tell from what the
// thread does. And an ordinary user has no witness.
const mostVain = 100

// judge has no more deep stacks read of a process where a sampling has them if it is in vain.
func (r *Reader) judge(t *target, sampling int, isExact bool) {
	if isExact {
		delete(t.vain, sampling)
		return
	}
	if t.vain == nil {
		t.vain = make(map[int]int)
	}
	// A helper that was told of the process anew is told this again.
	if t.vain[sampling]++; t.vain[sampling]%mostVain == 0 && r.helper != nil {
		_ = r.helper.Tell(news{what: noneBeyond, pid: t.process.PID, addr: uint64(sampling)}.message()) // one that has ended says so by Read
	}
}

// askAgain is how long after it was told to read more of a process the helper may be told so again, in nanoseconds.
const askAgain = 100e6
