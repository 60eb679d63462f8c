package goroutine

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
)

// preempted unwinds the stack of a goroutine that a signal stopped between two arbitrary
// instructions. The handler made it call runtime.asyncPreempt. That calls asyncPreempt2, which
// waits to run again (runtime/preempt.go). The frame below is unusual: its pc is the next
// instruction, not a return address. On arm64 the link register is saved in two more words on
// the stack (runtime/signal_arm64.go, pushCall). It reports false for other goroutines.
func (p *pass) preempted(dst []callchain.Frame, s *state, stack []byte) (frames []callchain.Frame, end callchain.End, ok bool) {
	pc, sp := s.top()
	base := sp
	for _, name := range [...]string{"runtime.asyncPreempt2", "runtime.asyncPreempt"} {
		depth, ok := p.depth(pc, name)
		if !ok {
			return dst, 0, false
		}
		before := uint64(0)
		if len(dst) > 0 {
			before = 1
		}
		dst = append(dst, p.frame(pc, before))
		at := sp
		if sp += depth; p.arch == callchain.AMD64 {
			at = sp // the call pushed the address
			sp += 8
		}
		if at+8 < at || at < base || at+8-base > uint64(len(stack)) {
			return dst, 0, false
		}
		pc = binary.LittleEndian.Uint64(stack[at-base:])
	}
	at := min(sp-base, uint64(len(stack)))
	resumed := state{lo: s.lo, hi: s.hi, pc: pc, sp: sp}
	if p.arch == callchain.ARM64 {
		if at+16 > uint64(len(stack)) {
			return dst, 0, false
		}
		resumed.lr = binary.LittleEndian.Uint64(stack[at:])
		resumed.sp += 16
		at += 16
	}
	dst, end = p.walkFrom(dst, &resumed, stack[at:])
	return dst, end, true
}

// depth returns how many bytes the stack pointer at pc is below its value at the entry of the
// named function. It returns false if pc is not in that function.
func (r *Runtime) depth(pc uint64, name string) (uint64, bool) {
	if r.table == nil {
		return 0, false
	}
	i, ok := r.table.Find(pc - r.bias)
	if !ok {
		return 0, false
	}
	f := r.table.Func(i)
	if nameOf(r.table, &f) != name {
		return 0, false
	}
	depth := r.table.Value(f.SP(), f.Entry, pc-r.bias)
	return uint64(max(depth, 0)), depth >= 0
}
