package near

import (
	"sync/atomic"
	"unsafe"
)

// handover is memory that the helper and its caller share, one for each CPU: a ring of
// entries that the CPU's thread writes and one goroutine of the caller reads, without a
// lock. head and tail only grow; their place in data is their rest modulo its size. An
// entry never wraps: where it does not fit before the end a pad fills the rest.
type handover struct {
	*control
	data []byte // a power of two
	at   uint64 // of the writer: where the open entry begins
}

// control is the page before the entries. Each word has one writer.
type control struct {
	head     uint64 // of the writer
	progress uint64 // all switches of this CPU before that time are in the entries
	counts   Counts
	rung     uint64
	began    uint64 // when the visit under way began, or 0
	resting  uint64 // since when the CPU's thread does not read, or 0
	heard    uint64 // messages that all visitors have heard, in the first CPU's
	_        [7]uint64
	tail     uint64 // of the reader
}

const controlSize = 4096

// Counts are what one CPU's thread did.
type Counts struct {
	Samples  uint64 // that the thread saw, with its own
	Own      uint64 // of the caller or of the helper: skipped before anything else
	Visits   uint64
	NoRoom   uint64 // samples without a visit, since the consumer did not keep up
	Rested   uint64 // samples without a visit, since the thread rested; more were never made
	Rests    uint64 // times that the thread used more than its share of the CPU
	RestedAt uint64 // when that was first, CLOCK_MONOTONIC in nanoseconds, or 0
	RestTime uint64 // ns
	Lost     uint64 // records that did not fit in the kernel's ring
	Bad      uint64 // records that made no sense
	Visiting uint64 // ns, of all visits
	CPUTime  uint64 // ns, that the thread used
}

// entryKind says what an entry of the handover is.
type entryKind uint8

const (
	padEntry  entryKind = iota // fills up the end
	viewEntry                  // a visit, or why there was none
	inEntry                    // a thread began to run on this CPU
	gapEntry                   // switches may be missing from Time to Ended
)

// entry is what lies in the handover. After it come Regs words and Data bytes.
type entry struct {
	Size     uint32 // of all, a multiple of 8
	Kind     entryKind
	Follow   follow
	Reason   Reason
	ABI      uint8 // of the registers
	PID, TID uint32
	Time     uint64 // of the sample, or of the switch
	Began    uint64 // the read
	Ended    uint64
	Out      uint64 // when the thread stopped
	IP       uint64
	Sampling uint16
	Regs     uint16
	Data     uint32
}

const entrySize = int(unsafe.Sizeof(entry{}))

// first is the begin of an entry, and all of a pad, for which there may be no more room.
type first struct {
	size uint32
	kind entryKind
	_    [3]uint8
}

func (h *handover) first(at uint64) *first { return (*first)(unsafe.Pointer(&h.data[at])) }

// newHandover makes one of its part of the shared memory.
func newHandover(mem []byte) handover {
	return handover{control: (*control)(unsafe.Pointer(unsafe.SliceData(mem))), data: mem[controlSize:]}
}

// begin returns an entry with that much room behind it, or nil if the reader did not keep
// up. It is the reader's from commit on; another begin gives it up.
func (h *handover) begin(room int) (*entry, []byte) {
	size := uint64(entrySize + room)
	head := atomic.LoadUint64(&h.head)
	free := uint64(len(h.data)) - (head - atomic.LoadUint64(&h.tail))
	from := head & uint64(len(h.data)-1)
	if rest := uint64(len(h.data)) - from; rest < size {
		if free < rest+size {
			return nil, nil
		}
		*h.first(from) = first{size: uint32(rest), kind: padEntry}
		head += rest
		from = 0
	} else if free < size {
		return nil, nil
	}
	h.at = head
	e := (*entry)(unsafe.Pointer(&h.data[from]))
	*e = entry{}
	return e, h.data[from+uint64(entrySize) : from+size : from+size]
}

// commit hands on the entry that begin returned, with that many bytes behind it.
func (h *handover) commit(e *entry, used int) {
	e.Size = uint32(entrySize+used+7) &^ 7
	atomic.StoreUint64(&h.head, h.at+uint64(e.Size))
}

// take returns the next entry and what lies behind it, or nil. Its memory is the writer's
// again after free.
func (h *handover) take() (*entry, []byte) {
	for {
		tail := h.tail
		if tail == atomic.LoadUint64(&h.head) {
			return nil, nil
		}
		from := tail & uint64(len(h.data)-1)
		if f := h.first(from); f.kind == padEntry {
			atomic.StoreUint64(&h.tail, tail+uint64(f.size))
			continue
		}
		e := (*entry)(unsafe.Pointer(&h.data[from]))
		return e, h.data[from+uint64(entrySize) : from+uint64(e.Size)]
	}
}

// free gives an entry's memory back.
func (h *handover) free(e *entry) { atomic.StoreUint64(&h.tail, h.tail+uint64(e.Size)) }

// wordsOf returns n words at the beginning of b, which is aligned, and the rest of b.
func wordsOf(b []byte, n int) ([]uint64, []byte) {
	if n == 0 {
		return nil, b
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), n), b[8*n:]
}
