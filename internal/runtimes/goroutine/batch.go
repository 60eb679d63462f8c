package goroutine

import "encoding/binary"

// batch holds the runtime.g structures of some goroutines, read together.
type batch struct {
	spans []span
	bytes []byte
	size  int // bytes per goroutine
}

// read reads the goroutines at the addresses, at most 1024.
func (r *Runtime) read(b *batch, list []uint64) error {
	b.size = r.layout.size()
	b.spans = b.spans[:0]
	for _, addr := range list {
		b.spans = append(b.spans, span{addr: addr, size: b.size})
	}
	b.bytes = sized(b.bytes, len(list)*b.size)
	return r.memory.read(b.spans, b.bytes)
}

// sized returns a slice of n bytes. It is b if that is large enough.
func sized(b []byte, n int) []byte {
	if cap(b) < n {
		return make([]byte, n)
	}
	return b[:n]
}

// state is what a runtime.g contains.
type state struct {
	addr   uint64
	id     uint64
	status uint32 // without the garbage collector's bit
	seq    uint8  // how often the goroutine has stopped running, modulo 256
	reason uint8
	lo, hi uint64 // bounds of its stack
	m      uint64

	pc, sp, lr, bp         uint64 // when it stopped running
	callPC, callSP, callBP uint64 // when it entered a system call

	since                  uint64 // on CLOCK_MONOTONIC, ns; 0 if unknown
	locked                 bool
	parent, creator, start uint64
	waiting                uint64 // the runtime.sudog it waits with, 0 if none
}

// parse decodes goroutine i of a batch. It returns false if the data makes no sense. A dead
// goroutine has only its address and status.
func (r *Runtime) parse(b *batch, i int) (state, bool) {
	if !b.spans[i].ok {
		return state{}, false
	}
	l, g := &r.layout, b.bytes[i*b.size:(i+1)*b.size]
	s := state{addr: b.spans[i].addr, status: binary.LittleEndian.Uint32(g[l[gStatus]:]) &^ scanning}
	if !isStatus(s.status) || isDead(s.status) {
		return s, isStatus(s.status)
	}
	s.id, s.seq, s.reason = l.word(g, gID), g[l[gTrackingSeq]], g[l[gWaitReason]]
	s.lo, s.hi, s.m = l.word(g, gStackLo), l.word(g, gStackHi), l.word(g, gM)
	s.pc, s.sp, s.lr, s.bp = l.word(g, gSchedPC), l.word(g, gSchedSP), l.word(g, gSchedLR), l.word(g, gSchedBP)
	s.callPC, s.callSP, s.callBP = l.word(g, gSyscallPC), l.word(g, gSyscallSP), l.word(g, gSyscallBP)
	s.since, s.locked = l.word(g, gWaitSince), l.word(g, gLockedM) != 0
	s.parent, s.creator, s.start = l.word(g, gParent), l.word(g, gCreator), l.word(g, gStart)
	s.waiting = l.word(g, gWaiting)
	sane := l.word(g, gSchedG) == s.addr && s.lo < s.hi && s.hi-s.lo <= maxStack && s.id != 0 && s.id < 1<<48
	if s.status == waiting && len(r.reasons) > 0 {
		sane = sane && int(s.reason) < len(r.reasons)
	}
	return s, sane
}

// still reports whether the goroutine did not run between two readings, so that its stack is
// the same. If it ran and stopped at the same place, seq differs; the runtime counts modulo
// 256.
func (s *state) still(later *state) bool {
	return s.id == later.id && s.status == later.status && s.seq == later.seq && s.m == later.m &&
		s.lo == later.lo && s.hi == later.hi && s.pc == later.pc && s.sp == later.sp && s.callPC == later.callPC && s.callSP == later.callSP && s.waiting == later.waiting
}

// top returns the pc and the stack pointer to unwind from, like the runtime's own tracebacks.
func (s *state) top() (pc, sp uint64) {
	if s.callSP != 0 {
		return s.callPC, s.callSP
	}
	return s.pc, s.sp
}
