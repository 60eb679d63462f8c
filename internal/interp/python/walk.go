package python

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/internal/interp"
)

// walker is the space that walks take place in.
type walker struct {
	*python // of which it uses what does not change
	memory  interp.Memory
	thread  []byte
	frame   []byte
	word    [8]byte

	window     [4096]byte // of memory that holds frames of a chunk
	windowAddr uint64     // 0: there is none

	known [knownThreads]known
	codes [knownCodes]seen
	code  []byte
	walks uint64

	left int // how many PyThreadStates may still be read in this walk
}

// known is where the PyThreadState of a thread was the last time.
type known struct {
	tid   int
	state uint64
}

// seen is a code object that was met, with the copy of its instructions that a thread
// runs, in which walk it was looked at, and what it was then.
type seen struct {
	code         uint64
	copy         uint32
	walk, cookie uint64
	begin, size  uint64 // of the instructions, in bytes; 0 if that is not known
}

// knownCodes is how many code objects a walker remembers, for one walk: by the next, another may be
// where one was.
const (
	knownBits  = 10
	knownCodes = 1 << knownBits
)

// knownThreads is how many threads a walker remembers.
const knownThreads = 512

// Bounds on the lists that are followed: interpreters, and threads of them all.
const (
	maxInterpreters = 1 << 8
	maxThreads      = 1 << 14
)

// Walker is of interp.Runtime.
func (r *python) Walker(m interp.Memory) interp.Walker {
	w := &walker{python: r, memory: interp.MemoryOr(m, r.memory), thread: make([]byte, r.threadSize()), frame: make([]byte, r.frameSize()), code: make([]byte, r.codeSize())}
	clear(w.codes[:]) // a page that is not there yet takes longer than a read, and the first walk may have no time
	return w
}

// Walk is of interp.Walker. A thread may run code of several interpreters, of which the
// newest is taken for the innermost.
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

// find reads the PyThreadState that a thread has in an interpreter. It reports false if
// the list makes no sense.
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

// listed tells whether a PyThreadState is in the list still: a thread may leave one
// behind that looks like its own.
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

// is tells whether the PyThreadState that was read is of a thread. What pthread_self
// returns to a thread is the address of libc's structure of it.
func (w *walker) is(tid int) bool {
	if !w.libc {
		return w.threadNative != 0 && binary.LittleEndian.Uint64(w.thread[w.threadNative:]) == uint64(tid)
	}
	b := w.word[:4]
	return w.memory.Read(binary.LittleEndian.Uint64(w.thread[w.threadID:])+w.tid, b) && binary.LittleEndian.Uint32(b) == uint32(tid)
}

// chain appends the calls of the thread whose PyThreadState was read.
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

// ownedByLoop is the owner of a frame that stands for a loop (enum _frameowner).
const ownedByLoop = 3

// tags is the bits of a frame's reference to its code object that are no part of the
// address, from 3.14 on.
const tags = 3

// call is what a frame says. Call.At is the offset of the instruction, which may be
// before the first.
func (w *walker) call(b []byte) interp.Call {
	code, last := binary.LittleEndian.Uint64(b[w.frameCode:])&^tags, binary.LittleEndian.Uint64(b[w.frameLast:])
	s := w.look(code, w.copyOf(b))
	if w.codeCopies != 0 && last-s.begin >= s.size { // a later copy is elsewhere
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

// copyOf is which copy of the instructions a frame runs.
func (w *walker) copyOf(b []byte) uint32 {
	if w.frameCopy == 0 {
		return 0
	}
	return binary.LittleEndian.Uint32(b[w.frameCopy:])
}

// look reads of a code object what tells it from a later one at its address, as it may be
// freed before its names are read, and where its instructions begin.
func (w *walker) look(code uint64, copy uint32) *seen {
	s := &w.codes[interp.Spread(code+uint64(copy), knownBits)]
	if s.code == code && s.copy == copy && s.walk == w.walks {
		return s
	}
	if !w.memory.Read(code, w.code) {
		*s = seen{cookie: unreadable} // and the next walk tries again
		return s
	}
	h := w.headOf(w.code)
	*s = seen{code: code, copy: copy, walk: w.walks, cookie: h.cookie(), size: 2 * binary.LittleEndian.Uint64(w.code[w.kind+8:])}
	s.begin = w.begin(code, copy)
	return s
}

// begin is where the instructions of the code object begin that was read. The copies are
// a number and as many addresses.
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

// unreadable is the cookie of a code object that can't be read, and of no other.
const unreadable = 1

// frameAt reads a frame. The frames of a chunk are read together: a caller lies before
// those that it called.
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

// read reads a word.
func (w *walker) read(addr uint64) (uint64, bool) {
	if !w.memory.Read(addr, w.word[:]) {
		return 0, false
	}
	return binary.LittleEndian.Uint64(w.word[:]), true
}
