package ruby

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
)

// In bytes: the list of a ractor's threads; what a thread has from its place in that list
// on; an execution context; a control frame, and the flags that its ep leads to.
const (
	ractorThreads = 304

	threadNext = 0
	threadEC   = 40
	threadID   = 80
	threadSize = 88

	ecStack     = 0
	ecStackSize = 8 // words
	ecFrame     = 16
	ecSize      = 24

	framePC   = 0
	frameISeq = 16
	frameEP   = 32
	frameSize = 64
)

// finish is the flag of a frame with which the loop began (VM_FRAME_FLAG_FINISH); dummy is
// the kind of the frame that a thread has before it calls anything.
const (
	finish   = 0x20
	kindMask = 0x7fff0001
	dummy    = 0x79990001
)

// Bounds: threads that are looked at, frames of a walk.
const (
	maxThreads = 1 << 14
	maxFrames  = 1 << 16
)

// walker is the space that walks take place in.
type walker struct {
	*ruby  // of which it uses what does not change
	memory interp.Memory
	thread [threadSize]byte
	ec     [ecSize]byte
	stack  stack
	b      [8]byte
}

// Walker is of interp.Runtime.
func (r *ruby) Walker(m interp.Memory) interp.Walker {
	return &walker{ruby: r, memory: interp.MemoryOr(m, r.memory)}
}

// Walk is of interp.Walker.
func (w *walker) Walk(dst []interp.Call, t *interp.Thread) ([]interp.Call, callchain.End) {
	ractor, ok := w.word(w.head, w.b[:])
	if !ok {
		return dst, callchain.Lost
	}
	if ractor == 0 { // it has not started, or has several ractors
		return dst, callchain.Complete
	}
	list := ractor + ractorThreads
	at, ok := w.word(list, w.b[:])
	for n := 0; ok && at != list; n++ {
		if n == maxThreads || !w.memory.Read(at, w.thread[:]) {
			return dst, callchain.Lost
		}
		if w.is(t.TID) {
			return w.chain(dst)
		}
		at = binary.LittleEndian.Uint64(w.thread[threadNext:])
	}
	if !ok {
		return dst, callchain.Lost
	}
	return dst, callchain.Complete
}

// is tells whether the structure that was read is of a thread. What pthread_self returns to
// a thread is the address of libc's structure of it.
func (w *walker) is(tid int) bool {
	return w.memory.Read(binary.LittleEndian.Uint64(w.thread[threadID:])+w.tid, w.b[:4]) && binary.LittleEndian.Uint32(w.b[:]) == uint32(tid)
}

// chain appends the calls of the thread that was read.
func (w *walker) chain(dst []interp.Call) ([]interp.Call, callchain.End) {
	if !w.memory.Read(binary.LittleEndian.Uint64(w.thread[threadEC:]), w.ec[:]) {
		return dst, callchain.Lost
	}
	stack := binary.LittleEndian.Uint64(w.ec[ecStack:])
	end := stack + 8*binary.LittleEndian.Uint64(w.ec[ecStackSize:])
	frame := binary.LittleEndian.Uint64(w.ec[ecFrame:])
	if stack == 0 || frame < stack || frame > end || frame%8 != 0 {
		return dst, callchain.Lost
	}
	w.stack.begin(w.memory, stack, end)
	start := len(dst)
	for n := 0; frame+frameSize <= end; n++ {
		if n == maxFrames {
			return dst, callchain.Cut
		}
		f, ok := w.stack.frame(frame)
		if !ok {
			return dst, callchain.Lost
		}
		pc, iseq := binary.LittleEndian.Uint64(f[framePC:]), binary.LittleEndian.Uint64(f[frameISeq:])
		flags, ok := w.stack.flags(binary.LittleEndian.Uint64(f[frameEP:]))
		if !ok {
			return dst, callchain.Lost
		}
		switch {
		case pc == 0 || iseq == 0 || flags&kindMask == dummy: // of C
			if flags&finish != 0 && len(dst) > start {
				dst[len(dst)-1].Entry = true
			}
		case len(dst) == cap(dst):
			return dst, callchain.Cut
		default:
			dst = append(dst, interp.Call{Code: iseq, At: pc, Entry: flags&finish != 0})
		}
		frame += frameSize
	}
	return dst, callchain.Complete
}
