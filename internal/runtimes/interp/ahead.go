package interp

import "golang.org/x/sys/unix"

// Many is a Memory that can read many pieces with one call.
type Many interface {
	Memory
	// ReadMany reads the pieces one after another into b. It returns the number of bytes read,
	// which ends at the first piece that is not completely there. b is as long as all pieces
	// together.
	ReadMany(pieces []unix.RemoteIovec, b []byte) int
}

// Ahead is a Memory for walks, which reads ahead. A thread that is walked often has mostly the
// same frames as last time, except for its leaves. As soon as a walk reads a piece that the
// thread's last walk has read, Ahead also reads the pieces that came next. One more piece costs
// a quarter of a system call. All data a walk gets was read after its Begin. An Ahead belongs
// to one goroutine at a time and allocates nothing.
type Ahead struct {
	memory Many
	past   [aheadThreads]trail // by thread
	last   *trail              // the same thread's walk before this one
	now    trail               // this walk

	had   [maxAhead]uint32 // offset in room of each piece of last, plus 1; 0: not read yet
	given [maxAhead]bool
	room  [aheadBytes]byte
	used  int // bytes of room in use
	step  int // how many pieces to read next

	index [2 * maxAhead]slot // pieces of last, by address
	walks uint32
}

// trail holds the pieces that a walk of a thread has read, in order.
type trail struct {
	tid int
	n   int
	of  [maxAhead]unix.RemoteIovec
}

// slot refers to a piece in the trail.
type slot struct {
	walk uint32 // the walk that set it; otherwise it is empty
	at   uint16
}

// Bounds: pieces kept per thread; threads; bytes read ahead in a walk, and per piece; pieces in
// the first read, and in any read.
const (
	aheadBits    = 9
	maxAhead     = 1 << aheadBits
	aheadThreads = 1 << 6
	aheadBytes   = 128 << 10
	maxLength    = 4 << 10
	firstStep    = 8
	maxStep      = 1 << 7
)

// NewAhead returns an Ahead that reads through m.
func NewAhead(m Many) *Ahead {
	a := &Ahead{memory: m}
	a.last = &a.past[0]
	// Touch the pages now: the first walk has no time to wait for them.
	clear(a.room[:])
	clear(a.now.of[:])
	clear(a.index[:])
	return a
}

// Begin starts a walk of a thread. tid is its id in the caller's pid namespace.
func (a *Ahead) Begin(tid int) {
	if a.now.n > 0 {
		was := &a.past[uint(a.now.tid)%aheadThreads]
		was.tid, was.n = a.now.tid, a.now.n
		copy(was.of[:], a.now.of[:a.now.n])
	}
	a.last = &a.past[uint(tid)%aheadThreads]
	if a.last.tid != tid {
		a.last.n = 0
	}
	a.now.tid, a.now.n = tid, 0
	a.used, a.step = 0, firstStep
	a.walks++
	for i := range a.last.n {
		a.had[i], a.given[i] = 0, false
		a.enter(i)
	}
}

// Read implements Memory.
func (a *Ahead) Read(addr uint64, b []byte) bool {
	i := a.find(addr, len(b))
	if i >= 0 && a.had[i] == 0 {
		a.fetch(i)
	}
	if i < 0 || a.had[i] == 0 {
		if !a.memory.Read(addr, b) {
			return false
		}
		a.note(addr, len(b))
		return true
	}
	copy(b, a.room[a.had[i]-1:])
	if !a.given[i] {
		a.given[i] = true
		a.note(addr, len(b))
	}
	return true
}

// note records a piece for the thread's next walk.
func (a *Ahead) note(addr uint64, n int) {
	if a.now.n == maxAhead || n == 0 || n > maxLength {
		return
	}
	p := &a.now.of[a.now.n]
	p.Base, p.Len = uintptr(addr), n
	a.now.n++
}

// fetch reads a piece of the last walk, and the pieces after it that were not read yet.
func (a *Ahead) fetch(first int) {
	end, size := first, 0
	for ; end < a.last.n && end-first < a.step && a.had[end] == 0; end++ {
		n := a.last.of[end].Len
		if a.used+size+n > aheadBytes {
			break
		}
		size += n
	}
	if end-first < 2 {
		return // the caller reads it itself
	}
	a.step = min(2*a.step, maxStep)
	left := a.memory.ReadMany(a.last.of[first:end], a.room[a.used:][:size])
	for i := first; i < end && left >= a.last.of[i].Len; i++ {
		left -= a.last.of[i].Len
		a.had[i] = uint32(a.used) + 1
		a.used += a.last.of[i].Len
	}
}

// enter adds a piece of the last walk to the index, unless an equal one is there. A piece
// without a free slot is not read ahead.
func (a *Ahead) enter(i int) {
	p := &a.last.of[i]
	at := home(p.Base)
	for range maxProbes {
		s := &a.index[at%len(a.index)]
		if s.walk != a.walks {
			*s = slot{a.walks, uint16(i)}
			return
		}
		if a.last.of[s.at] == *p {
			return
		}
		at++
	}
}

// find returns the index of a piece of the last walk, or -1.
func (a *Ahead) find(addr uint64, n int) int {
	want := unix.RemoteIovec{Base: uintptr(addr), Len: n}
	at := home(want.Base)
	for range maxProbes {
		s := a.index[at%len(a.index)]
		if s.walk != a.walks {
			return -1
		}
		if a.last.of[s.at] == want {
			return int(s.at)
		}
		at++
	}
	return -1
}

// maxProbes bounds the slots tried for a piece. A process could choose addresses that all have
// the same slot.
const maxProbes = 8

// home returns the first slot to try for an address.
func home(addr uintptr) int { return int(Spread(uint64(addr), aheadBits+1)) }

// Spread returns a hash of addr that has the given number of bits. It is made for objects of
// one size, which lie at even distances.
func Spread(addr uint64, bits int) uint64 {
	const odd = 0x9e3779b97f4a7c15
	addr *= odd
	return (addr ^ addr>>32) * odd >> (64 - bits)
}
