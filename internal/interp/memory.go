package interp

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Memory is the memory of a process. It may be used by several goroutines.
type Memory interface {
	// Read fills b with what is at an address, and tells whether all of it was there.
	// If not, b may be anything.
	Read(addr uint64, b []byte) bool
}

// Live is the memory of a process of this machine, by its pid or that of a thread of it.
// It allocates nothing.
type Live int

// Read is of Memory. It is a raw system call: a thread that must not give its place away
// is not taken for one that blocks. Pages that are not in memory are brought in.
func (pid Live) Read(addr uint64, b []byte) bool {
	return pid.ReadMany([]unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, b) == len(b)
}

// ReadMany is of Many.
func (pid Live) ReadMany(pieces []unix.RemoteIovec, b []byte) int {
	if len(pieces) == 0 || len(b) == 0 {
		return 0
	}
	local := unix.Iovec{Base: &b[0]}
	local.SetLen(len(b))
	n, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid),
		uintptr(unsafe.Pointer(&local)), 1, uintptr(unsafe.Pointer(&pieces[0])), uintptr(len(pieces)), 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// Page is a piece of memory that was recorded.
type Page struct {
	Addr  uint64
	Bytes []byte
}

// Image is memory that was recorded: pages in the order of their addresses, without
// overlaps. Tests walk in it, and fuzz targets damage it.
type Image []Page

// Read is of Memory.
func (m Image) Read(addr uint64, b []byte) bool {
	low, high := 0, len(m)
	for low < high { // the first page that ends behind addr
		middle := int(uint(low+high) >> 1)
		if m[middle].Addr+uint64(len(m[middle].Bytes)) > addr {
			high = middle
		} else {
			low = middle + 1
		}
	}
	for ; len(b) > 0; low++ {
		if low == len(m) || m[low].Addr > addr || addr-m[low].Addr >= uint64(len(m[low].Bytes)) {
			return false
		}
		n := copy(b, m[low].Bytes[addr-m[low].Addr:])
		addr, b = addr+uint64(n), b[n:]
	}
	return true
}

// MemoryOr is m, or another if that is nil.
func MemoryOr(m, other Memory) Memory {
	if m == nil {
		return other
	}
	return m
}
