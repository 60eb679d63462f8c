package perfevent

import (
	"fmt"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// RingFile is the ring of one CPU, for a process that reads it in the place of the one
// that opened the session: package near has such a process.
type RingFile struct {
	CPU   int
	FD    int // of the event that owns the ring, open as long as the session is
	Bytes int // of records
}

// RingFiles returns the rings of a session that was opened with Options.HandOver or
// Options.Shared. Who follows a ring and never waits for it needs neither.
func (s *Session) RingFiles() []RingFile {
	var files []RingFile
	for i := range s.rings {
		if r := &s.rings[i]; r.mem != nil {
			files = append(files, RingFile{CPU: s.cpus[i], FD: r.fd, Bytes: len(r.data)})
		}
	}
	return files
}

// LetFollow makes the rings of a session with Options.Shared wake the reader that follows them instead of Read,
// from now on. A ring reports new records only once, so only one of the two can wait for it. LetFollow may be
// called while Read runs.
func (s *Session) LetFollow() error { return s.shared.letFollow() }

// CPURing reads the ring of one CPU in the order in which the kernel wrote the records.
// It is for one goroutine at a time, and does not allocate once it has seen a record that
// wraps around the ring's end.
type CPURing struct {
	ring    mappedRing
	follows bool
	tail    uint64 // how far the reader was at the last look
	missing bool
}

// mostRoom is more than the kernel wants of a ring for one record, and for another one before it
// that says how many were lost.
const mostRoom = maxRecordSize + 1<<10

// MapRing maps a ring. The descriptor may be a duplicate.
func MapRing(f RingFile) (*CPURing, error) {
	r := new(CPURing)
	if err := r.ring.mmap(f.FD, f.CPU, f.Bytes, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return nil, fmt.Errorf("map the ring of CPU %d: %w", f.CPU, err)
	}
	r.ring.scratch = make([]uint64, (maxRecordSize+7)/8)
	return r, nil
}

// Follow has the ring read beside its reader, who alone calls Release: from now on, and as
// long as the kernel is not half a ring ahead.
func (r *CPURing) Follow() {
	r.follows = true
	r.ring.snapshot()
	r.ring.next = r.ring.limit
	r.tail = atomic.LoadUint64(r.ring.tail)
}

// Look notes how far the kernel has written: Next goes until there. Of a ring that is followed
// all is left out if it is so much that the kernel may soon write over it.
func (r *CPURing) Look() {
	tail := atomic.LoadUint64(r.ring.tail)
	r.ring.snapshot()
	size := uint64(len(r.ring.data))
	half := size / 2
	// No record since the last Look has found more than that in the ring, whenever its reader took some.
	r.missing = r.ring.limit-r.tail > size-min(half, mostRoom)
	r.tail = tail
	if r.follows && r.ring.limit-r.ring.next > half {
		r.ring.next, r.missing = r.ring.limit, true
	}
}

// Missing tells whether the kernel may have dropped records between the last two Looks, as there was
// no room for the largest record, or in a small ring for one of half its size. Its own word for that
// (Lost) comes with the next record only, and not before that fits. Of a ring that is followed it
// tells as well whether the last Look left records out.
func (r *CPURing) Missing() bool { return r.missing }

// Next takes a record and returns its bytes, or nil when all that Look saw are taken. They
// are valid until Release, and those of a record that wraps until the next one that does.
// Those of a ring that is followed are the kernel's again when its reader has released them.
func (r *CPURing) Next() []byte { return r.ring.nextRaw() }

// Release gives the kernel back the space of all records that were taken.
func (r *CPURing) Release() { r.ring.release() }

// Malformed returns how often the data made no sense, so that the rest of a look was skipped.
func (r *CPURing) Malformed() uint64 { return r.ring.malformed }

// Close unmaps the ring.
func (r *CPURing) Close() error { return r.ring.unmap() }

// nextRaw takes the next record past the window.
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
