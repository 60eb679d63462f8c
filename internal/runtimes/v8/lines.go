package v8

import "github.com/ringtap/ringtap/internal/runtimes/interp"

// lines caches memory that was read recently, until forget is called. The frames of one sample
// lead to the same objects again and again, and an object's fields are close together. It
// belongs to one goroutine.
type lines struct {
	mem  interp.Memory
	age  uint64 // of the valid lines
	kept [lineCount]line
}

// line is a piece of memory within one page, so it is readable completely or not at all.
type line struct {
	age, addr uint64
	ok        bool
	bytes     [lineSize]byte
}

const (
	lineSize  = 128
	lineCount = 256
)

// forget invalidates the cache.
func (l *lines) forget() { l.age++ }

// Read implements interp.Memory.
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
