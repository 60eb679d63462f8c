package ruby

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// Offsets in bytes: in the VM since 3.0 the list of ractors, their number and the main one;
// then in an execution context and in a control frame.
const (
	vmRactors = 8
	vmCount   = 16 // counted from the list
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

// Flags of a frame: the loop began with it (VM_FRAME_FLAG_FINISH); its environment is not
// inside another. rescue is the kind of a rescue or ensure clause's frame. The kind of a
// thread's first frame is in layout.
const (
	finish   = 0x20
	local    = 2
	kindMask = 0xffff0001
	rescue   = 0x78880001
)

// Bounds: ractors and threads searched; frames per walk; nested environments; bytes of a
// thread; and the offset of the thread id in libc's thread structure.
const (
	maxRactors = 1 << 10
	maxThreads = 1 << 14
	maxFrames  = 1 << 16
	maxNested  = 1 << 6
	maxThread  = 128
	maxPlace   = 1 << 10
)

// walker is the work space of walks.
type walker struct {
	*ruby  // uses only fields that do not change
	memory interp.Memory
	place  uint64 // offset of the thread id in libc's thread structure; 0: unknown yet
	vm     [vmSize]byte
	thread [maxThread]byte
	ec     [ecSize]byte
	stack  stack
	b      [8]byte
}

// Walker implements interp.Runtime.
func (r *ruby) Walker(m interp.Memory) interp.Walker {
	return &walker{ruby: r, memory: interp.MemoryOr(m, r.memory), place: r.tid}
}

// Walk implements interp.Walker.
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

// findInRactors reads a thread of any ractor. Most programs have only the main one.
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

// find searches a list for a thread and reads it into w.thread.
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

// is reports whether the structure in w.thread belongs to thread tid. pthread_self is the
// address of libc's thread structure, which contains the thread's id.
func (w *walker) is(tid int) bool {
	self, ok := w.self()
	return ok && w.memory.Read(self+w.place, w.b[:4]) && binary.LittleEndian.Uint32(w.b[:]) == uint32(tid)
}

// self returns the result of pthread_self in the thread whose structure is in w.thread. It
// returns false if no kernel thread runs it.
func (w *walker) self() (uint64, bool) {
	self := binary.LittleEndian.Uint64(w.thread[w.threadID:])
	if w.nativeID == 0 || self == 0 {
		return self, self != 0
	}
	return w.read(self + w.nativeID)
}

// learn finds the offset of the thread id in libc's thread structure. It searches the first
// thread's structure for the pid, as that is the main thread. glibc before 2.34 publishes the
// offset only for debuggers, musl not at all.
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

// chain appends the calls of the thread in w.thread.
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
		isClauses := skip && !isOfC // the clause's own method frame, with the same name and another line
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

// method returns the method that an environment, or one around it, belongs to, or 0 if none
// (rb_vm_frame_method_entry in vm_insnhelper.c). A block has its own if it was made a method,
// or is evaluated for another object.
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

// isISeq reports whether addr, in the place of a frame's iseq, is one. Blocks written in C have
// something else there. A pc of 0 does not exclude an iseq: YJIT's code stores its pc only
// before it calls something.
func (w *walker) isISeq(addr uint64) bool {
	flags, ok := w.read(addr)
	return ok && isInternalKind(flags, isISeq)
}

func (w *walker) read(addr uint64) (uint64, bool) {
	if !w.memory.Read(addr, w.b[:]) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(w.b[:]), true
}
