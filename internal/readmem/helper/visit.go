package helper

import (
	"bytes"
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

// pageSize is the smallest page size of any machine.
const pageSize = 4096

// Visit reads the memory of a sampled thread. A thread of the child has one Visit for all of its
// visits, with buffers for all methods, because a visit must not allocate.
type Visit struct {
	// Sample is the sample that caused the visit. It is valid until Visitor.Visit returns.
	Sample *perfevent.Sample

	clock    *clock
	deadline uint64 // in ns of CLOCK_MONOTONIC
	tid      int
	kept     []byte // for the caller; its capacity is the limit
	word     [8]byte
	page     [pageSize]byte // the memory at pageAt, unless pageAt is 0
	pageAt   uint64
	path     [32]byte // NUL-terminated
	local    unix.Iovec
	remote   unix.RemoteIovec
}

// begin starts the visit of a sample. room is memory for what the visitor keeps.
func (v *Visit) begin(s *perfevent.Sample, room []byte, deadline uint64) {
	v.Sample, v.tid, v.kept, v.deadline = s, int(s.TID), room[:0], deadline
	v.pageAt = 0
}

// Register returns the value of a user register in the sample, or 0 if the sample does not have
// it. number is that of the kernel's asm/perf_regs.h.
func (v *Visit) Register(number int) uint64 {
	value, _ := v.Sample.Regs.Value(number)
	return value
}

// Read fills b with the thread's memory at addr. It returns ErrMemory if not all of that can be
// read. b must not be a slice of a local array: that would be allocated.
func (v *Visit) Read(addr uint64, b []byte) error {
	if v.clock.now() > v.deadline {
		return ErrTime
	}
	v.remote.Base, v.remote.Len = uintptr(addr), len(b)
	if v.read(unsafe.Slice(&v.remote, 1), b) != len(b) {
		return ErrMemory
	}
	return nil
}

// ReadMany fills b with pieces of the thread's memory, one after the other. It stops at the first
// byte that cannot be read, and returns how many bytes it has read. b must be as long as all
// pieces together. A piece takes a quarter of the time of a Read.
func (v *Visit) ReadMany(pieces []unix.RemoteIovec, b []byte) (int, error) {
	if v.clock.now() > v.deadline {
		return 0, ErrTime
	}
	return v.read(pieces, b), nil
}

// read is ReadMany without a check of the deadline.
func (v *Visit) read(pieces []unix.RemoteIovec, b []byte) int {
	if len(pieces) == 0 || len(b) == 0 {
		return 0
	}
	v.local.Base = unsafe.SliceData(b)
	v.local.SetLen(len(b))
	// unix.ProcessVMReadv would let the runtime take the thread's P during the call.
	n, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(v.tid),
		uintptr(unsafe.Pointer(&v.local)), 1, uintptr(unsafe.Pointer(&pieces[0])), uintptr(len(pieces)), 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// Word returns the 8 bytes at addr, which are little-endian.
func (v *Visit) Word(addr uint64) (uint64, error) {
	if err := v.Read(addr, v.word[:]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(v.word[:]), nil
}

// Peek returns n bytes of the thread's memory. They are valid until the next call of a method.
// Peek reads and remembers the whole page, so that another Peek in the same page needs no system
// call. Use it for the nodes of a list or the frames of an interpreter. It returns ErrMemory if
// the bytes are not all in one page.
func (v *Visit) Peek(addr uint64, n int) ([]byte, error) {
	page := addr &^ (pageSize - 1)
	from := addr - page
	if n < 0 || from+uint64(n) > pageSize {
		return nil, ErrMemory
	}
	if page != v.pageAt || page == 0 {
		v.pageAt = 0
		if err := v.Read(page, v.page[:]); err != nil {
			return nil, err
		}
		v.pageAt = page
	} else if v.clock.now() > v.deadline {
		return nil, ErrTime
	}
	return v.page[from : from+uint64(n)], nil
}

// PeekPage is Peek of the bytes from addr to the end of its page.
func (v *Visit) PeekPage(addr uint64) ([]byte, error) {
	return v.Peek(addr, int(pageSize-addr%pageSize))
}

// Left returns how many more bytes can be kept.
func (v *Visit) Left() int { return cap(v.kept) - len(v.kept) }

// Keep appends b to what the caller gets.
func (v *Visit) Keep(b []byte) error {
	if cap(v.kept)-len(v.kept) < len(b) {
		return ErrFull
	}
	v.kept = append(v.kept, b...)
	return nil
}

// KeepWord appends the 8 bytes of w, little-endian, to what the caller gets.
func (v *Visit) KeepWord(w uint64) error {
	if cap(v.kept)-len(v.kept) < 8 {
		return ErrFull
	}
	v.kept = binary.LittleEndian.AppendUint64(v.kept, w)
	return nil
}

// Load keeps n bytes of the thread's memory at addr, and returns them.
func (v *Visit) Load(addr uint64, n int) ([]byte, error) {
	from := len(v.kept)
	if n < 0 || cap(v.kept)-from < n {
		return nil, ErrFull
	}
	b := v.kept[from : from+n]
	if err := v.Read(addr, b); err != nil {
		return nil, err
	}
	v.kept = v.kept[:from+n]
	return b, nil
}

// LoadString keeps the NUL-terminated text at addr without the NUL, and returns it. Of a longer
// text it keeps the first limit bytes.
func (v *Visit) LoadString(addr uint64, limit int) ([]byte, error) {
	from := len(v.kept)
	for left := limit; left > 0; {
		n := min(int(pageSize-addr%pageSize), left, cap(v.kept)-len(v.kept))
		if n == 0 {
			return nil, ErrFull
		}
		begin := len(v.kept)
		b, err := v.Load(addr, n)
		if err != nil {
			return nil, err
		}
		if end := bytes.IndexByte(b, 0); end >= 0 {
			v.kept = v.kept[:begin+end]
			break
		}
		addr, left = addr+uint64(n), left-n
	}
	return v.kept[from:], nil
}
