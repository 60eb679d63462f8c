package interp

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// Memory reads a process's memory. Several goroutines may use it.
type Memory interface {
	// Read fills b with the memory at addr. It reports whether all of it was there; if not, b's
	// content is undefined.
	Read(addr uint64, b []byte) bool
}

// Live is the memory of a process of this machine, by its pid or the id of one of its threads.
// It allocates nothing.
type Live int

// Read implements Memory. It uses a raw system call, so that the Go scheduler does not take the
// thread's P away. The kernel faults in pages that are not in memory.
func (pid Live) Read(addr uint64, b []byte) bool {
	return pid.ReadMany([]unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}, b) == len(b)
}

// ReadMany implements Many.
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

// Page is a piece of recorded memory.
type Page struct {
	Addr  uint64
	Bytes []byte
}

// Image is recorded memory: pages sorted by address, without overlaps. Tests walk it, and fuzz
// targets damage it.
type Image []Page

// Read implements Memory.
func (m Image) Read(addr uint64, b []byte) bool {
	low, high := 0, len(m)
	for low < high { // the first page that ends after addr
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

// MemoryOr returns m, or other if m is nil.
func MemoryOr(m, other Memory) Memory {
	if m == nil {
		return other
	}
	return m
}
