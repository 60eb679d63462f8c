package v8

import "github.com/ringtap/ringtap/internal/interp"

// lines is memory of which what was read lately is kept, until it is forgotten: the frames
// of one sample lead to the same objects over and over, and an object's fields lie side by
// side. It belongs to one goroutine.
type lines struct {
	mem  interp.Memory
	age  uint64 // of what is kept; lines of another are not
	kept [lineCount]line
}

// line is a piece of memory that lies in one page, so that all of it can be read or none.
type line struct {
	age, addr uint64
	ok        bool
	bytes     [lineSize]byte
}

const (
	lineSize  = 128
	lineCount = 256
)

// forget lets everything be read anew.
func (l *lines) forget() { l.age++ }

// Read is of interp.Memory.
func (l *lines) Read(addr uint64, b []byte) bool {
	from := addr % lineSize
	if from+uint64(len(b)) > lineSize {
		return l.mem.Read(addr, b)
	}
	at := &l.kept[addr/lineSize%lineCount]
	if start := addr - from; at.age != l.age || at.addr != start {
		at.age, at.addr = l.age, start
		at.ok = l.mem.Read(start, at.bytes[:])
	}
	copy(b, at.bytes[from:])
	return at.ok
}
