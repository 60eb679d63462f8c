package python

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/runtimes/interp"
)

// walker is the work space of walks.
type walker struct {
	*python // uses only fields that do not change
	memory  interp.Memory
	thread  []byte
	frame   []byte
	word    [8]byte

	window     [4096]byte // memory with frames of a chunk
	windowAddr uint64     // 0: empty

	known [knownThreads]known
	codes [knownCodes]seen
	code  []byte
	walks uint64

	left int // how many more PyThreadStates this walk may read
}

// known is where a thread's PyThreadState was last time.
type known struct {
	tid   int
	state uint64
}

// seen is a code object found in a walk. copy is the copy of its instructions that the thread
// runs, cookie the object's cookie at that time.
type seen struct {
	code         uint64
	copy         uint32
	walk, cookie uint64
	begin, size  uint64 // of the instructions, in bytes; 0 if unknown
}

// knownCodes is how many code objects a walker caches, for one walk only: by the next walk,
// another object may have the same address.
const (
	knownBits  = 10
	knownCodes = 1 << knownBits
)

// knownThreads is how many threads a walker remembers.
const knownThreads = 512

// Bounds on the lists: interpreters, and threads of all interpreters together.
const (
	maxInterpreters = 1 << 8
	maxThreads      = 1 << 14
)

// Walker implements interp.Runtime.
func (r *python) Walker(m interp.Memory) interp.Walker {
	w := &walker{python: r, memory: interp.MemoryOr(m, r.memory), thread: make([]byte, r.threadSize()), frame: make([]byte, r.frameSize()), code: make([]byte, r.codeSize())}
	clear(w.codes[:]) // touch the pages now: a page fault takes longer than a read, and the first walk may have no time
	return w
}

// Walk implements interp.Walker. A thread may run code of several interpreters. Walk assumes
// that the newest one is the innermost.
func (w *walker) Walk(dst []interp.Call, t *interp.Thread) ([]interp.Call, callchain.End) {
	w.windowAddr, w.left = 0, maxThreads
	w.walks++
	interpreter, ok := w.read(w.head)
	if !ok {
		return dst, callchain.Lost
	}
	end := callchain.Complete
	for only, n := true, 0; interpreter != 0 && n < maxInterpreters; n++ {
		next, ok := w.read(interpreter + w.interpNext)
		if !ok {
			return dst, callchain.Lost
		}
		only = only && next == 0
		found, ok := w.find(interpreter, t.TID, only)
		if !ok {
			return dst, callchain.Lost
		}
		if found {
			if dst, end = w.chain(dst); end != callchain.Complete {
				return dst, end
			}
		}
		interpreter = next
	}
	return dst, end
}

// find reads the PyThreadState of a thread in an interpreter. ok is false if the list makes no
// sense.
func (w *walker) find(interpreter uint64, tid int, remember bool) (found, ok bool) {
	first, ok := w.read(interpreter + w.interpThreads)
	if !ok {
		return false, false
	}
	last := &w.known[uint(tid)%knownThreads]
	if remember && last.tid == tid && w.listed(first, last.state) && w.memory.Read(last.state, w.thread) && w.is(tid) {
		return true, true
	}
	state := first
	for ; w.left > 0; w.left-- {
		if state == 0 {
			return false, true
		}
		if !w.memory.Read(state, w.thread) {
			return false, false
		}
		if w.is(tid) {
			if remember {
				*last = known{tid, state}
			}
			return true, true
		}
		state = binary.LittleEndian.Uint64(w.thread[w.threadNext:])
	}
	return false, false
}

// listed reports whether a PyThreadState is still in the list. A thread that ended may leave
// one that looks like this thread's own.
func (w *walker) listed(first, state uint64) bool {
	if first == state {
		return true
	}
	before, ok := w.read(state + w.threadPrev)
	if !ok || before == 0 {
		return false
	}
	next, ok := w.read(before + w.threadNext)
	return ok && next == state
}

// is reports whether the PyThreadState in w.thread belongs to thread tid. thread_id there is
// the result of pthread_self: the address of libc's thread structure.
func (w *walker) is(tid int) bool {
	if !w.libc {
		return w.threadNative != 0 && binary.LittleEndian.Uint64(w.thread[w.threadNative:]) == uint64(tid)
	}
	b := w.word[:4]
	return w.memory.Read(binary.LittleEndian.Uint64(w.thread[w.threadID:])+w.tid, b) && binary.LittleEndian.Uint32(b) == uint32(tid)
}

// chain appends the calls of the thread whose PyThreadState is in w.thread.
func (w *walker) chain(dst []interp.Call) ([]interp.Call, callchain.End) {
	frame := binary.LittleEndian.Uint64(w.thread[w.threadFrame:])
	if w.threadCFrame != 0 {
		var ok bool
		if frame, ok = w.read(binary.LittleEndian.Uint64(w.thread[w.threadCFrame:]) + w.cframeFrame); !ok {
			return dst, callchain.Lost
		}
	}
	start := len(dst)
	for steps := 2*cap(dst) + 2; frame != 0; steps-- {
		b, ok := w.frameAt(frame)
		if !ok {
			return dst, callchain.Lost
		}
		frame = binary.LittleEndian.Uint64(b[w.frameBack:])
		switch {
		case w.minor >= shims && b[w.frameOwner] >= ownedByLoop:
			if len(dst) > start {
				dst[len(dst)-1].Entry = true
			}
		case len(dst) == cap(dst):
			return dst, callchain.Cut
		default:
			dst = append(dst, w.call(b))
		}
		if steps == 0 {
			return dst, callchain.Cut
		}
	}
	if len(dst) > start {
		dst[len(dst)-1].Entry = true
	}
	return dst, callchain.Complete
}

// ownedByLoop is the owner of a frame that marks a loop (enum _frameowner).
const ownedByLoop = 3

// tags are the low bits of a frame's reference to its code object that are not part of the
// address, from 3.14 on.
const tags = 3

// call returns the call of a frame. Call.At is the offset of the instruction, which may be
// before the first one.
func (w *walker) call(b []byte) interp.Call {
	code, last := binary.LittleEndian.Uint64(b[w.frameCode:])&^tags, binary.LittleEndian.Uint64(b[w.frameLast:])
	s := w.look(code, w.copyOf(b))
	if w.codeCopies != 0 && last-s.begin >= s.size { // the instructions were copied again, elsewhere
		s.code = 0
		s = w.look(code, w.copyOf(b))
	}
	c := interp.Call{Code: code, Cookie: s.cookie}
	switch {
	case w.minor >= locations:
		c.At = last - s.begin
		c.Entry = w.frameEntry != 0 && b[w.frameEntry] != 0
	case w.minor >= ranges:
		c.At, c.Entry = uint64(int64(int32(last)))*2, true
	default:
		c.At, c.Entry = uint64(int64(int32(last))), true
	}
	return c
}

// copyOf returns which copy of the instructions a frame runs.
func (w *walker) copyOf(b []byte) uint32 {
	if w.frameCopy == 0 {
		return 0
	}
	return binary.LittleEndian.Uint32(b[w.frameCopy:])
}

// look reads a code object's cookie, since the object may be freed before its names are read,
// and the start of its instructions.
func (w *walker) look(code uint64, copy uint32) *seen {
	s := &w.codes[interp.Spread(code+uint64(copy), knownBits)]
	if s.code == code && s.copy == copy && s.walk == w.walks {
		return s
	}
	if !w.memory.Read(code, w.code) {
		*s = seen{cookie: unreadable} // the next walk tries again
		return s
	}
	h := w.headOf(w.code)
	*s = seen{code: code, copy: copy, walk: w.walks, cookie: h.cookie(), size: 2 * binary.LittleEndian.Uint64(w.code[w.kind+8:])}
	s.begin = w.begin(code, copy)
	return s
}

// begin returns the address of the first instruction of the code object in w.code. The copies
// are an array: its length, then their addresses.
func (w *walker) begin(code uint64, copy uint32) uint64 {
	if w.codeCopies == 0 {
		return code + w.codeBytes
	}
	array := binary.LittleEndian.Uint64(w.code[w.codeCopies:])
	if n, ok := w.read(array); !ok || uint64(copy) >= n {
		return 0
	}
	begin, _ := w.read(array + 8 + 8*uint64(copy))
	return begin
}

// unreadable is the cookie of a code object that can't be read. No other cookie is odd.
const unreadable = 1

// frameAt reads a frame. It reads the frames of a chunk together: callers lie before the
// functions they called.
func (w *walker) frameAt(addr uint64) ([]byte, bool) {
	if addr%8 != 0 {
		return nil, false
	}
	size := uint64(len(w.frame))
	if w.minor < locations {
		return w.frame, w.memory.Read(addr, w.frame)
	}
	if w.windowAddr == 0 || addr < w.windowAddr || addr+size > w.windowAddr+uint64(len(w.window)) {
		begin := addr + size - uint64(len(w.window))
		if begin > addr || !w.memory.Read(begin, w.window[:]) {
			return w.frame, w.memory.Read(addr, w.frame)
		}
		w.windowAddr = begin
	}
	return w.window[addr-w.windowAddr:][:size], true
}

// read reads a word of 8 bytes.
func (w *walker) read(addr uint64) (uint64, bool) {
	if !w.memory.Read(addr, w.word[:]) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(w.word[:]), true
}
