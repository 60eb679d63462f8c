package perfevent

import (
	"encoding/binary"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// ring walks the records in one CPU's ring buffer. The kernel writes at *head, the walker reads
// from *tail. Both only grow; their index in data is their value modulo its size. The kernel
// never overwrites the bytes between the two, so records that were handed out stay intact until
// release moves the tail past them.
//
// A ring holds no file descriptor: tests run one over a byte slice.
//
// Within one ring, records are nearly in time order. The kernel takes a record's time before it
// reserves the record's place. An interrupt between the two writes its own record first, with a
// later time. window corrects that: it holds the next records sorted by time, enough for all
// levels of nested interrupts.
type ring struct {
	head, tail *uint64 // shared with the kernel
	data       []byte  // a power of two
	cpu        int

	next    uint64 // the first byte not yet in the window
	limit   uint64 // head when it was last looked at
	scanned uint64 // the first byte not yet offered to Reader.Unordered

	window     [2 * lookahead]entry // only [first, end) is in use
	first, end int

	scratch   []uint64 // for a record that wraps
	malformed uint64   // places where the data did not make sense
}

// lookahead is how many records the window holds. It has room for twice as many, so that its
// content rarely has to move to the front.
const lookahead = 8

// entry is a record in the window.
type entry struct {
	time uint64
	pos  uint64
	size uint32
}

func newRing(cpu int, head, tail *uint64, data []byte) *ring {
	r := &ring{cpu: cpu, head: head, tail: tail, data: data}
	r.next = atomic.LoadUint64(tail)
	r.limit, r.scanned = r.next, r.next
	return r
}

// snapshot notes how far the kernel has written. What lies before is complete:
// the kernel moves head only after the data is in place.
func (r *ring) snapshot() { r.limit = atomic.LoadUint64(r.head) }

// used returns how many bytes the kernel cannot write to.
func (r *ring) used() uint64 { return r.limit - r.oldest() }

// oldest returns the position of the first record that was not taken.
func (r *ring) oldest() uint64 {
	pos := r.next
	for _, e := range r.window[r.first:r.end] {
		pos = min(pos, e.pos)
	}
	return pos
}

// release gives the kernel back the space of all records that were taken.
func (r *ring) release() { atomic.StoreUint64(r.tail, r.oldest()) }

// peek returns the earliest record of the window, or nil when the snapshot is
// used up.
func (r *ring) peek() *entry {
	for r.end-r.first < lookahead && r.next != r.limit {
		r.fill()
	}
	if r.first == r.end {
		return nil
	}
	return &r.window[r.first]
}

// take removes the record that peek returned.
func (r *ring) take() { r.first++ }

// fill moves the next record into the window. If the record's size is impossible, the next one
// can't be found, so fill skips everything up to the snapshot. If the record is only too short
// to have a time, fill skips this record.
func (r *ring) fill() {
	size, ok := r.sizeAt(r.next)
	if !ok {
		r.malformed++
		r.next = r.limit
		return
	}
	pos := r.next
	r.next += size
	timeAt := size - trailerTimeAt
	least := uint64(minOtherSize)
	if r.isSample(pos) {
		timeAt, least = sampleTimeAt, minSampleSize
	}
	if size < least {
		r.malformed++
		return
	}
	e := entry{pos: pos, size: uint32(size), time: r.uint64At(pos + timeAt)}
	if r.end == len(r.window) {
		r.end = copy(r.window[:], r.window[r.first:])
		r.first = 0
	}
	i := r.end
	for ; i > r.first && r.window[i-1].time > e.time; i-- {
		r.window[i] = r.window[i-1]
	}
	r.window[i] = e
	r.end++
}

// sizeAt returns the size of the record at pos, and reports whether it is possible. A sample's
// size is not a multiple of 8 if the copy of its stack ends at the end of the address space, as
// for some 32-bit programs (perf_sample_ustack_size in kernel/events/core.c). All later records
// then start at addresses that are not multiples of 8 either.
func (r *ring) sizeAt(pos uint64) (size uint64, ok bool) {
	size = r.uint64At(pos) >> 48
	return size, size >= headerSize && (size%8 == 0 || r.isSample(pos)) && size <= r.limit-pos && size <= uint64(len(r.data))
}

// isSample reports whether the record at pos is a sample.
func (r *ring) isSample(pos uint64) bool { return uint32(r.uint64At(pos)) == unix.PERF_RECORD_SAMPLE }

// uint64At reads the word at pos, which may wrap around the end of the ring.
func (r *ring) uint64At(pos uint64) uint64 {
	from := pos & uint64(len(r.data)-1)
	if from+8 <= uint64(len(r.data)) {
		return binary.LittleEndian.Uint64(r.data[from:])
	}
	var b [8]byte
	copy(b[copy(b[:], r.data[from:]):], r.data)
	return binary.LittleEndian.Uint64(b[:])
}

// bytes returns the record of an entry in place. If the record wraps around the end of the ring
// or is not aligned, bytes returns a copy that is valid until the next such record.
func (r *ring) bytes(e *entry) []byte {
	from := e.pos & uint64(len(r.data)-1)
	if from%8 == 0 && from+uint64(e.size) <= uint64(len(r.data)) {
		return r.data[from : from+uint64(e.size) : from+uint64(e.size)]
	}
	if r.scratch == nil {
		r.scratch = make([]uint64, (maxRecordSize+7)/8)
	}
	b := bytesOf(r.scratch)[:e.size:e.size]
	n := copy(b, r.data[from:])
	copy(b[n:], r.data)
	return b
}

// scan calls offer with the records since the last scan, in the order of the ring, and does not
// take them. It must follow a snapshot.
func (r *ring) scan(offer func(b []byte)) {
	// Skip records whose space was released to the kernel, or that fill skipped.
	if oldest := r.oldest(); int64(r.scanned-oldest) < 0 {
		r.scanned = oldest
	}
	for r.scanned != r.limit {
		size, ok := r.sizeAt(r.scanned)
		if !ok {
			r.scanned = r.limit
			return
		}
		e := entry{pos: r.scanned, size: uint32(size)}
		r.scanned += size
		offer(r.bytes(&e))
	}
}

// nextRaw takes the next record without using the window, and returns its bytes. It returns nil
// if the snapshot has no more.
func (r *ring) nextRaw() []byte {
	if r.next == r.limit {
		return nil
	}
	size, ok := r.sizeAt(r.next)
	if !ok {
		r.malformed++
		r.next = r.limit
		return nil
	}
	e := entry{pos: r.next, size: uint32(size)}
	r.next += size
	return r.bytes(&e)
}
