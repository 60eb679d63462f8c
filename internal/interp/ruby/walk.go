package ruby

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
)

// In bytes: since 3.0 the VM's list of ractors, with the number of them and the main one; an execution
// context; a control frame.
const (
	vmRactors = 8
	vmCount   = 16 // behind the list's beginning
	vmMain    = 24
	vmSize    = 32

	threadNext = 0

	ecStack     = 0
	ecStackSize = 8 // words
	ecFrame     = 16
	ecSize      = 24

	framePC      = 0
	frameISeq    = 16
	frameEP      = 32
	maxFrameSize = 64
)

// Flags of a frame: that the loop began with it (VM_FRAME_FLAG_FINISH), and that its environment is in no
// other; the kind of the frame of a rescue or ensure clause. That of the frame that a thread has before it calls
// anything is of the layout.
const (
	finish   = 0x20
	local    = 2
	kindMask = 0xffff0001
	rescue   = 0x78880001
)

// Bounds: ractors and threads that are looked at, frames of a walk, environments that are in one another,
// bytes of a thread, and of libc's structure of one as far as its id.
const (
	maxRactors = 1 << 10
	maxThreads = 1 << 14
	maxFrames  = 1 << 16
	maxNested  = 1 << 6
	maxThread  = 128
	maxPlace   = 1 << 10
)

// walker is the space that walks take place in.
type walker struct {
	*ruby  // of which it uses what does not change
	memory interp.Memory
	place  uint64 // of a thread's id in libc's structure; 0: it is not known yet
	vm     [vmSize]byte
	thread [maxThread]byte
	ec     [ecSize]byte
	stack  stack
	b      [8]byte
}

// Walker is of interp.Runtime.
func (r *ruby) Walker(m interp.Memory) interp.Walker {
	return &walker{ruby: r, memory: interp.MemoryOr(m, r.memory), place: r.tid}
}

// Walk is of interp.Walker.
func (w *walker) Walk(dst []interp.Call, t *interp.Thread) ([]interp.Call, callchain.End) {
	vm, ok := w.read(w.head)
	if !ok {
		return dst, callchain.Lost
	}
	if vm == 0 { // it has not started
		return dst, callchain.Complete
	}
	found, ok := false, false
	if left := maxThreads; w.ractor == 0 {
		found, ok = w.find(vm+w.threads, t.TID, &left)
	} else {
		found, ok = w.findInRactors(vm+vmRactors, t.TID, &left)
	}
	switch {
	case !ok:
		return dst, callchain.Lost
	case !found:
		return dst, callchain.Complete
	}
	return w.chain(dst)
}

// findInRactors reads a thread of any ractor. Most programs have but the main one.
func (w *walker) findInRactors(list uint64, tid int, left *int) (found, ok bool) {
	if !w.memory.Read(list, w.vm[:]) {
		return false, false
	}
	main := binary.LittleEndian.Uint64(w.vm[vmMain:])
	if main == 0 {
		return false, true
	}
	if found, ok = w.find(main+w.threads, tid, left); found || !ok || binary.LittleEndian.Uint32(w.vm[vmCount:]) < 2 {
		return found, ok
	}
	at := binary.LittleEndian.Uint64(w.vm[:])
	for n := 0; at != list; n++ {
		if n == maxRactors {
			return false, false
		}
		if ractor := at - w.ractor; ractor != main {
			if found, ok = w.find(ractor+w.threads, tid, left); found || !ok {
				return found, ok
			}
		}
		if at, ok = w.read(at); !ok {
			return false, false
		}
	}
	return false, true
}

// find reads a thread that is in a list.
func (w *walker) find(list uint64, tid int, left *int) (found, ok bool) {
	at, ok := w.read(list)
	if ok && at != list && w.place == 0 && !w.learn(at) {
		return false, false
	}
	for ; ok && at != list; *left-- {
		if *left == 0 || !w.memory.Read(at, w.thread[:w.threadBytes]) {
			return false, false
		}
		if w.is(tid) {
			return true, true
		}
		at = binary.LittleEndian.Uint64(w.thread[threadNext:])
	}
	return false, ok
}

// is tells whether the structure that was read is of a thread. What pthread_self returns to
// a thread is the address of libc's structure of it.
func (w *walker) is(tid int) bool {
	self, ok := w.self()
	return ok && w.memory.Read(self+w.place, w.b[:4]) && binary.LittleEndian.Uint32(w.b[:]) == uint32(tid)
}

// self is what pthread_self returns to the thread whose structure was read, false if no thread of the kernel
// runs it.
func (w *walker) self() (uint64, bool) {
	self := binary.LittleEndian.Uint64(w.thread[w.threadID:])
	if w.nativeID == 0 || self == 0 {
		return self, self != 0
	}
	return w.read(self + w.nativeID)
}

// learn finds where libc has the ids of threads by the first one of a list, which is the main one. glibc before
// 2.34 says it to debuggers alone, musl to nobody.
func (w *walker) learn(first uint64) bool {
	if !w.memory.Read(first, w.thread[:w.threadBytes]) {
		return false
	}
	self, ok := w.self()
	part := w.thread[:]
	for place := uint64(0); ok && place < maxPlace; place += maxThread {
		if !w.memory.Read(self+place, part) {
			return false
		}
		for at := uint64(0); at < maxThread; at += 4 {
			if binary.LittleEndian.Uint32(part[at:]) == uint32(w.pid) {
				w.place = place + at
				return true
			}
		}
	}
	return false
}

// chain appends the calls of the thread that was read.
func (w *walker) chain(dst []interp.Call) ([]interp.Call, callchain.End) {
	if !w.memory.Read(binary.LittleEndian.Uint64(w.thread[w.threadEC:]), w.ec[:]) {
		return dst, callchain.Lost
	}
	stack := binary.LittleEndian.Uint64(w.ec[ecStack:])
	end := stack + 8*binary.LittleEndian.Uint64(w.ec[ecStackSize:])
	frame := binary.LittleEndian.Uint64(w.ec[ecFrame:])
	if stack == 0 || frame < stack || frame > end || frame%8 != 0 {
		return dst, callchain.Lost
	}
	w.stack.begin(w.memory, stack, end)
	start, skip := len(dst), false
	for n := 0; frame+w.frameSize <= end; n++ {
		if n == maxFrames {
			return dst, callchain.Cut
		}
		f, ok := w.stack.frame(frame, w.frameSize)
		if !ok {
			return dst, callchain.Lost
		}
		pc, iseq := binary.LittleEndian.Uint64(f[framePC:]), binary.LittleEndian.Uint64(f[frameISeq:])
		env, ok := w.stack.env(binary.LittleEndian.Uint64(f[frameEP:]))
		if !ok {
			return dst, callchain.Lost
		}
		flags := binary.LittleEndian.Uint64(env[envFlags:])
		isOfC := iseq == 0 || flags&kindMask == w.frameDummy || pc == 0 && !w.isISeq(iseq)
		isClauses := skip && !isOfC // the frame that a clause belongs to, which has its name and another line
		if !isOfC {
			skip = w.qualified && flags&kindMask == rescue
		}
		switch {
		case isOfC || isClauses:
			if flags&finish != 0 && len(dst) > start {
				dst[len(dst)-1].Entry = true
			}
		case len(dst) == cap(dst):
			return dst, callchain.Cut
		default:
			call := interp.Call{Code: iseq, At: pc, Entry: flags&finish != 0}
			if w.qualified {
				call.Cookie = w.method(env)
			}
			dst = append(dst, call)
		}
		frame += w.frameSize
	}
	return dst, callchain.Complete
}

// method is what an environment, or one that it is in, has of the method that was called
// (rb_vm_frame_method_entry in vm_insnhelper.c); 0 if nothing. Blocks have something of their own where they
// were made methods, or are evaluated for another object.
func (w *walker) method(env []byte) uint64 {
	for range maxNested {
		method, flags := binary.LittleEndian.Uint64(env[envMethod:]), binary.LittleEndian.Uint64(env[envFlags:])
		if flags&local != 0 {
			return method
		}
		const tags = 3
		outer := binary.LittleEndian.Uint64(env[envCaller:]) &^ tags
		if method != 0 {
			if kind, ok := w.read(method); ok && isInternalKind(kind, isMethod) {
				return method
			}
		}
		var ok bool
		if env, ok = w.stack.env(outer); !ok {
			return 0
		}
	}
	return 0
}

// isISeq tells whether what a frame has for its iseq is one: blocks that are written in C have something else
// there. Code that YJIT has made does not say where it is before it calls something.
func (w *walker) isISeq(addr uint64) bool {
	flags, ok := w.read(addr)
	return ok && isInternalKind(flags, isISeq)
}

// read reads a word.
func (w *walker) read(addr uint64) (uint64, bool) {
	if !w.memory.Read(addr, w.b[:]) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(w.b[:]), true
}
