package syscalltext

import (
	"bytes"
	"encoding/binary"
)

// maxText is how much of a text is read, unless Options.Limit asks for more: the longest path that the kernel
// takes (PATH_MAX), its zero included.
const maxText = 4096

// mostTexts bounds the texts of a record together, without vectors: a record has offsets of 16 bits.
const mostTexts = 32 << 10

// limitOf returns how many bytes are read of each text of an event, its zero included, if wanted bytes matter.
func limitOf(wanted int, params []Param) int {
	n := 0
	for _, p := range params {
		if !p.Vector {
			n++
		}
	}
	return max(maxText, min(wanted+len(more)+1, mostTexts/max(n, 1)))
}

// Bounds of a vector: the elements that are read, and their bytes together.
const (
	maxElements = 32
	maxVector   = 8192
)

// more stands at the end of what was cut.
const more = "..."

// memory reads what a thread's address space holds.
type memory func(tid int, addr uint64, b []byte) int

// appendString appends the text at addr and its zero, limit bytes at most; nothing if it is not
// there.
func (read memory) appendString(dst []byte, tid int, addr uint64, limit int) []byte {
	b := make([]byte, limit)
	n := read(tid, addr, b)
	if end := bytes.IndexByte(b[:n], 0); end >= 0 {
		return append(dst, b[:end+1]...)
	}
	if n < len(b) {
		return dst // it goes on where nothing is
	}
	dst = append(dst, b[:limit-len(more)-1]...)
	return append(dst, more+"\x00"...)
}

// appendVector appends the texts that the pointers at addr point to.
func (read memory) appendVector(dst []byte, tid int, addr uint64) []byte {
	var pointers [(maxElements + 1) * 8]byte
	n := read(tid, addr, pointers[:])
	start := len(dst)
	for i := 0; i+8 <= n; i += 8 {
		element := binary.LittleEndian.Uint64(pointers[i:])
		if element == 0 {
			return dst
		}
		if i/8 == maxElements || len(dst)-start > maxVector {
			return append(dst, more+"\x00"...)
		}
		before := len(dst)
		if dst = read.appendString(dst, tid, element, maxText); len(dst) == before {
			return dst[:start]
		}
	}
	return dst[:start]
}
