package syscalltext

import (
	"bytes"
	"encoding/binary"
)

// maxText is the most of a text that is read: the longest path that the kernel
// takes (PATH_MAX), its zero included.
const maxText = 4096

// Bounds of a vector: the elements that are read, and their bytes together.
const (
	maxElements = 32
	maxVector   = 8192
)

// more stands at the end of what was cut.
const more = "..."

// memory reads what a thread's address space holds.
type memory func(tid int, addr uint64, b []byte) int

// appendString appends the text at addr and its zero; nothing if it is not
// there.
func (read memory) appendString(dst []byte, tid int, addr uint64) []byte {
	var b [maxText]byte
	n := read(tid, addr, b[:])
	if end := bytes.IndexByte(b[:n], 0); end >= 0 {
		return append(dst, b[:end+1]...)
	}
	if n < len(b) {
		return dst // it goes on where nothing is
	}
	dst = append(dst, b[:maxText-len(more)-1]...)
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
		if dst = read.appendString(dst, tid, element); len(dst) == before {
			return dst[:start]
		}
	}
	return dst[:start]
}
