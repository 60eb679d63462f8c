package stack

// maxReturns is how many return probes the kernel tracks per thread (MAX_URETPROBE_DEPTH in
// kernel/events/uprobes.c).
const maxReturns = 64

// returns has the return addresses of functions, as seen at their entries, by TID. A return probe
// replaces the return address on the stack, so that stacks of inner calls do not show it: see
// callchain.Returns.
type returns map[uint32]*threadReturns

// threadReturns has the calls of a thread, outermost first. Calls that have ended stay until a
// later call has a frame at the same depth or further out.
type threadReturns struct{ calls []returnsTo }

type returnsTo struct{ cfa, address uint64 }

// maxThreads is how many threads are known. Beyond it, all are forgotten.
const maxThreads = 1 << 16

// note stores a call of a thread.
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
