package perfevent

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// words returns b as 64-bit words, without the last bytes that do not fill a word. It copies b only
// if b does not start at a multiple of 8, which may be so for bytes that do not come from a ring.
func words(b []byte) []uint64 {
	if len(b) < 8 {
		return nil
	}
	p := unsafe.Pointer(unsafe.SliceData(b))
	if uintptr(p)%8 != 0 {
		aligned := make([]uint64, len(b)/8)
		copy(bytesOf(aligned), b)
		return aligned
	}
	return unsafe.Slice((*uint64)(p), len(b)/8)
}

// bytesOf returns w as bytes without copying.
func bytesOf(w []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), len(w)*8)
}

// namespacesOf returns w as pairs without copying.
func namespacesOf(w []uint64) []Namespace {
	if len(w) < 2 {
		return nil
	}
	return unsafe.Slice((*Namespace)(unsafe.Pointer(unsafe.SliceData(w))), len(w)/2)
}

// mmapPage returns the control page at the start of a mapped ring.
func mmapPage(mem []byte) *unix.PerfEventMmapPage {
	return (*unix.PerfEventMmapPage)(unsafe.Pointer(unsafe.SliceData(mem)))
}

// addressOf returns the address of b as an integer, for the kernel. The caller pins b.
func addressOf(b []byte) uint64 {
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}
