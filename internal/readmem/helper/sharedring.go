package helper

import (
	"sync/atomic"
	"unsafe"
)

// sharedRing is one CPU's part of the memory that the child shares with its caller: a header and
// a ring of entries. The CPU's thread in the child writes entries, and one goroutine of the
// caller reads them. There is no lock.
//
// head and tail only grow. An offset in data is one of them modulo the size of data. An entry
// never wraps around the end: if it does not fit there, a pad fills the rest.
type sharedRing struct {
	*ringHeader
	data     []byte // its length is a power of two
	reserved uint64 // writer only: where the reserved entry begins, in the units of head
}

// ringHeader is the page before the entries. Each word has one writer. Times are in ns of
// CLOCK_MONOTONIC.
type ringHeader struct {
	head        uint64 // written by the child: end of the last committed entry
	progress    uint64 // all switches of this CPU before this time are in the entries
	counts      Counts
	class       uint64 // a SchedClass
	visitBegan  uint64 // when the current visit began; 0 if there is none
	pausedSince uint64 // when the current pause of the CPU's thread began; 0 if there is none
	received    uint64 // messages that all visitors have received; only in the first CPU's header
	_           [7]uint64
	tail        uint64 // written by the caller: end of the last released entry
}

const ringHeaderSize = 4096

// Counts is what the child's thread for one CPU has counted.
type Counts struct {
	samples      uint64 // that the visitor's SampleFilter accepted, including ownProcesses
	ownProcesses uint64 // samples of the caller and the child, which are not visited
	visits       uint64
	noSpace      uint64 // samples that were not visited because the shared ring was full
	whilePaused  uint64 // samples that were not visited because the thread paused; with Start, many are not even taken then
	Pauses       uint64 // times that the thread exceeded Options.Share
	FirstPaused  uint64 // when the first pause began, in ns of CLOCK_MONOTONIC; 0 if there was none
	PausedTime   uint64 // of all pauses that have ended, in ns
	lost         uint64 // records that did not fit in the kernel's ring
	malformed    uint64 // times that the kernel's ring held a malformed record
	visitTime    uint64 // of all visits together, in ns
	CPUTime      uint64 // that the thread has used, in ns
}

// entryKind says what an entry of a shared ring is.
type entryKind uint8

const (
	padEntry      entryKind = iota // fills the end of the ring
	visitEntry                     // a visit, or the reason why the memory was not read
	switchInEntry                  // this CPU switched to thread tid at a time
	lostEntry                      // switches of this CPU may be missing between time and ended
)

// entry is an entry of a shared ring. It is followed by regs words of registers and data bytes
// that the visitor kept. Times are in ns of CLOCK_MONOTONIC.
type entry struct {
	size        uint32 // of the entry with all that follows it, a multiple of 8
	kind        entryKind
	next        nextSwitch
	reason      Reason
	abi         uint8 // of the registers
	pid, tid    uint32
	time        uint64 // of the sample, or of the switch
	began       uint64 // the read
	ended       uint64
	switchedOut uint64 // the switch away from the thread, if next says that there was one
	ip          uint64
	sampling    uint16
	regs        uint16
	data        uint32
}

const entrySize = int(unsafe.Sizeof(entry{}))

// entryHeader is the start of an entry. A pad has nothing else: the ring may have no more space.
type entryHeader struct {
	size uint32
	kind entryKind
	_    [3]uint8
}

func (r *sharedRing) header(offset uint64) *entryHeader {
	return (*entryHeader)(unsafe.Pointer(&r.data[offset]))
}

// newSharedRing returns the ring of one CPU's part of the shared memory.
func newSharedRing(mem []byte) sharedRing {
	return sharedRing{ringHeader: (*ringHeader)(unsafe.Pointer(unsafe.SliceData(mem))), data: mem[ringHeaderSize:]}
}

// reserve returns an entry and room bytes after it for the writer to fill, or nil if the ring is
// full. The reader sees the entry after commit. Another reserve discards it.
func (r *sharedRing) reserve(room int) (*entry, []byte) {
	size := uint64(entrySize + room)
	head := atomic.LoadUint64(&r.head)
	free := uint64(len(r.data)) - (head - atomic.LoadUint64(&r.tail))
	from := head & uint64(len(r.data)-1)
	if rest := uint64(len(r.data)) - from; rest < size {
		if free < rest+size {
			return nil, nil
		}
		*r.header(from) = entryHeader{size: uint32(rest), kind: padEntry}
		head += rest
		from = 0
	} else if free < size {
		return nil, nil
	}
	r.reserved = head
	e := (*entry)(unsafe.Pointer(&r.data[from]))
	*e = entry{}
	return e, r.data[from+uint64(entrySize) : from+size : from+size]
}

// commit lets the reader see the reserved entry and the first used bytes after it.
func (r *sharedRing) commit(e *entry, used int) {
	e.size = uint32(entrySize+used+7) &^ 7
	atomic.StoreUint64(&r.head, r.reserved+uint64(e.size))
}

// next returns the oldest entry and the bytes after it, or nil if there is none. The reader must
// call release before the next call of next, and may not use the memory after that.
func (r *sharedRing) next() (*entry, []byte) {
	for {
		tail := r.tail
		if tail == atomic.LoadUint64(&r.head) {
			return nil, nil
		}
		from := tail & uint64(len(r.data)-1)
		if h := r.header(from); h.kind == padEntry {
			atomic.StoreUint64(&r.tail, tail+uint64(h.size))
			continue
		}
		e := (*entry)(unsafe.Pointer(&r.data[from]))
		return e, r.data[from+uint64(entrySize) : from+uint64(e.size)]
	}
}

// release gives the memory of e, which next returned, back to the writer.
func (r *sharedRing) release(e *entry) { atomic.StoreUint64(&r.tail, r.tail+uint64(e.size)) }

// splitWords returns the first n words of b as a slice of b's memory, and the rest of b. b must
// be aligned to 8 bytes.
func splitWords(b []byte, n int) ([]uint64, []byte) {
	if n == 0 {
		return nil, b
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), n), b[8*n:]
}
