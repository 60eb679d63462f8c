package interp

import "golang.org/x/sys/unix"

// Many is a Memory that reads many pieces at once.
type Many interface {
	Memory
	// ReadMany fills b with pieces, one behind the other, and returns how many of them it has: those
	// before the first that is not all there. b is as long as the pieces are together.
	ReadMany(pieces []unix.RemoteIovec, b []byte) int
}

// Ahead is a Memory for walks. A thread that is walked often is mostly where it was, but for its leaves: as
// soon as a walk reads what the last one of the thread has read, Ahead reads what that read next as well. A piece
// among others costs a quarter of a system call. What a walk is given was read since its Begin. An Ahead
// belongs to one goroutine at a time, and allocates nothing.
type Ahead struct {
	memory Many
	past   [aheadThreads]trail // by thread
	last   *trail              // of the walk before this one, of the same thread
	now    trail               // of this walk

	had   [maxAhead]uint32 // where in room the pieces of last are, plus 1; 0: nowhere yet
	given [maxAhead]bool
	room  [aheadBytes]byte
	used  int // of room
	step  int // how many pieces are read next

	index [2 * maxAhead]slot // of last, by address
	walks uint32
}

// trail is the pieces that a walk of a thread has read, in their order.
type trail struct {
	tid int
	n   int
	of  [maxAhead]unix.RemoteIovec
}

// slot says where in the list of pieces one is.
type slot struct {
	walk uint32 // that it is of; it is empty in any other
	at   uint16
}

// Bounds: pieces of a thread that are kept, threads; bytes that are read ahead in a walk, and of one piece;
// pieces of the first such read and of any.
const (
	aheadBits    = 9
	maxAhead     = 1 << aheadBits
	aheadThreads = 1 << 6
	aheadBytes   = 128 << 10
	maxLength    = 4 << 10
	firstStep    = 8
	maxStep      = 1 << 7
)

// NewAhead makes an Ahead that reads by m.
func NewAhead(m Many) *Ahead {
	a := &Ahead{memory: m}
	a.last = &a.past[0]
	// The first walk has no time to wait for pages.
	clear(a.room[:])
	clear(a.now.of[:])
	clear(a.index[:])
	return a
}

// Begin begins a walk of a thread, by its id in the caller's namespace.
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

// Read is of Memory.
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

// note keeps a piece for the next walk.
func (a *Ahead) note(addr uint64, n int) {
	if a.now.n == maxAhead || n == 0 || n > maxLength {
		return
	}
	p := &a.now.of[a.now.n]
	p.Base, p.Len = uintptr(addr), n
	a.now.n++
}

// fetch reads a piece of the last walk, and those behind it that are still to be read.
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

// enter enters a piece of the last walk into the index, unless its like is there. What finds no place is not
// read ahead.
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

// find is where in the list of the last walk a piece is, -1 if it is not.
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

// maxProbes bounds how many slots are looked at for a piece. Who chooses addresses could have them all in one place.
const maxProbes = 8

// home is the slot that an address has first.
func home(addr uintptr) int { return int(Spread(uint64(addr), aheadBits+1)) }

// Spread is a hash of an address with so many bits. Objects of one size lie at even distances.
func Spread(addr uint64, bits int) uint64 {
	const odd = 0x9e3779b97f4a7c15
	addr *= odd
	return (addr ^ addr>>32) * odd >> (64 - bits)
}
