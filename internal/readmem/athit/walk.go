package athit

import (
	"bytes"

	"github.com/ringtap/ringtap/internal/readmem/helper"
)

// memory is the memory of a process, and takes the bytes that a walker finds there. The helper reads it while a
// thread is stopped (stopped), or Reader does later (lateMemory).
type memory interface {
	// PeekPage returns the bytes from addr to the end of its page, which are valid until the next call.
	// The error is helper.ErrMemory if addr can't be read.
	PeekPage(addr uint64) ([]byte, error)
	// Word returns the 8 bytes at addr.
	Word(addr uint64) (uint64, error)
	// Keep copies b to the end of what was found.
	Keep(b []byte) error
}

// state says how much of a text was read.
type state uint8

const (
	unread state = iota // nothing, or not all that there is up to the limit
	whole
	cut // the text goes on
)

// maxElements is how many texts of a vector are read.
const maxElements = 32

// walker follows pointers and keeps the bytes at the end. It allocates nothing, because the helper must not.
type walker struct {
	memory
	pointers [maxElements + 1]uint64
}

var (
	textEnd    = []byte{0}
	cutTextEnd = []byte(More + "\x00")
)

// More ends a text that was cut. Reader adds it to the elements of vectors only: see Found.Cut.
const More = "..."

// follow returns the address at the end of a path from addr.
func (w *walker) follow(addr uint64, path []int64) (uint64, error) {
	for i, offset := range path {
		addr += uint64(offset)
		if i == len(path)-1 {
			break
		}
		var err error
		if addr, err = w.Word(addr); err != nil {
			return 0, err
		}
	}
	return addr, nil
}

// at keeps the bytes at addr, the end of p's path, and returns how many they are. Memory that can't be read is not an
// error.
func (w *walker) at(p *Pointer, addr uint64) (length int, s state, err error) {
	if p.Vector {
		return w.vector(addr, p.Limit)
	}
	return w.run(addr, p.Limit, p.Raw)
}

// run keeps up to limit bytes. If raw is false they are a text, which ends before a zero and must be readable up to
// there.
func (w *walker) run(addr uint64, limit int, raw bool) (length int, s state, err error) {
	for length < limit {
		b, err := w.PeekPage(addr)
		if err == helper.ErrMemory && raw && length > 0 {
			break
		}
		if err == helper.ErrMemory {
			return length, unread, nil
		}
		if err != nil {
			return length, unread, err
		}
		b = b[:min(len(b), limit-length)]
		end := bytes.IndexByte(b, 0)
		if raw {
			end = -1
		}
		if end >= 0 {
			b = b[:end]
		}
		if err := w.Keep(b); err != nil {
			return length, unread, err
		}
		length += len(b)
		if end >= 0 {
			return length, whole, nil
		}
		addr += uint64(len(b))
	}
	return length, cut, nil
}

// vector keeps the texts that the pointers at addr lead to, each with a zero. All must be readable.
func (w *walker) vector(addr uint64, limit int) (length int, s state, err error) {
	n := 0
	for ; n < len(w.pointers); n++ {
		p, err := w.Word(addr + 8*uint64(n))
		if err == helper.ErrMemory {
			return 0, unread, nil
		}
		if err != nil {
			return 0, unread, err
		}
		if w.pointers[n] = p; p == 0 {
			break
		}
	}
	for _, p := range w.pointers[:min(n, maxElements)] {
		if length >= 2*limit {
			return length, cut, nil
		}
		one, s, err := w.run(p, limit, false)
		length += one
		if err != nil || s == unread {
			return length, unread, err
		}
		end := textEnd
		if s == cut {
			end = cutTextEnd
		}
		if err := w.Keep(end); err != nil {
			return length, unread, err
		}
		length += len(end)
	}
	if n > maxElements {
		return length, cut, nil
	}
	return length, whole, nil
}
