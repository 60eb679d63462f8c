package stack

// maxReturns is how many calls of one thread may be under way: the kernel probes the
// returns of no more (MAX_URETPROBE_DEPTH in kernel/events/uprobes.c).
const maxReturns = 64

// returns is where functions return to, by what was seen at their entries. While the
// return of one is probed the stacks of others that it calls do not say it: see
// callchain.Returns.
type returns map[uint32]*threadReturns

// threadReturns is the calls of a thread, the outermost first. Those that ended are
// left until one begins that is no deeper, whose frames lie where theirs did.
type threadReturns struct{ calls []returnsTo }

type returnsTo struct{ cfa, address uint64 }

// maxThreads is how many threads are known: beyond, all is forgotten.
const maxThreads = 1 << 16

// note notes a call of a thread.
func (r returns) note(tid uint32, cfa, address uint64) {
	t := r[tid]
	if t == nil {
		if len(r) == maxThreads {
			clear(r)
		}
		t = &threadReturns{}
		r[tid] = t
	}
	n := len(t.calls)
	for n > 0 && t.calls[n-1].cfa <= cfa {
		n--
	}
	if n == maxReturns {
		n--
	}
	t.calls = append(t.calls[:n], returnsTo{cfa, address})
}

// Return implements callchain.Returns.
func (t *threadReturns) Return(cfa uint64) (address uint64, ok bool) {
	if t == nil {
		return 0, false
	}
	for i := len(t.calls) - 1; i >= 0 && t.calls[i].cfa <= cfa; i-- {
		if t.calls[i].cfa == cfa {
			return t.calls[i].address, true
		}
	}
	return 0, false
}
