package perfevent

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// RingFile describes the ring of one CPU, so that a process other than the session's can map it.
// Package helper starts such a process.
type RingFile struct {
	CPU   int
	FD    int // the event that owns the ring, open as long as the session is
	Bytes int // room for records
}

// RingFiles returns the rings of a session. To wait for a ring, its reader needs a session with
// Options.ExternalReader or Options.SharedRings; a reader that only polls it needs neither.
func (s *Session) RingFiles() []RingFile {
	var files []RingFile
	for i := range s.rings {
		if r := &s.rings[i]; r.mem != nil {
			files = append(files, RingFile{CPU: s.cpus[i], FD: r.fd, Bytes: len(r.data)})
		}
	}
	return files
}

// LetFollow makes the rings of a session with Options.SharedRings wake the reader that follows them instead of Read,
// from now on. A ring reports new records only once, so only one of the two can wait for it. LetFollow may be
// called while Read runs.
func (s *Session) LetFollow() error { return s.shared.letFollow() }

// CPURing reads the ring of one CPU in the order in which the kernel wrote the records.
// It is for one goroutine at a time, and does not allocate once it has seen a record that
// wraps around the ring's end.
type CPURing struct {
	ring    mappedRing
	follows bool
	tail    uint64 // how far the ring had been released at the last Look
	missing bool   // see Missing
}

// mostRoom is more bytes than the kernel needs in a ring for one record and a Lost record before
// it.
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

// Follow makes r a second reader of the ring, from its current end on. Only the first reader
// calls Release. r skips records if it is more than half a ring late: see Look.
func (r *CPURing) Follow() {
	r.follows = true
	r.ring.snapshot()
	r.ring.next = r.ring.limit
	r.tail = atomic.LoadUint64(r.ring.tail)
}

// Look notes how far the kernel has written; Next stops there. If r follows and more than half of
// the ring is new, Look skips all of it, since the kernel may overwrite it soon.
func (r *CPURing) Look() {
	tail := atomic.LoadUint64(r.ring.tail)
	r.ring.snapshot()
	size := uint64(len(r.ring.data))
	half := size / 2
	// Since the last Look, the ring never held more than limit-tail bytes, whenever its reader released some.
	r.missing = r.ring.limit-r.tail > size-min(half, mostRoom)
	r.tail = tail
	if r.follows && r.ring.limit-r.ring.next > half {
		r.ring.next, r.missing = r.ring.limit, true
	}
}

// Missing reports whether the kernel may have dropped records between the last two Looks, because the
// ring had no room for the largest record (in a small ring, for a record of half its size). The kernel's
// own Lost record comes only with the next record that fits. If r follows, Missing also reports whether
// the last Look skipped records.
func (r *CPURing) Missing() bool { return r.missing }

// Next takes a record and returns its bytes, or nil if it has taken all records that Look saw. The
// bytes are valid until Release, or, if r follows, until the ring's first reader releases them. If the
// record wraps around the ring's end, they are valid until the next such record.
func (r *CPURing) Next() []byte { return r.ring.nextRaw() }

// Release gives the kernel back the space of all records that were taken.
func (r *CPURing) Release() { r.ring.release() }

// Malformed returns how often Next found an impossible size and skipped the rest of what Look saw.
func (r *CPURing) Malformed() uint64 { return r.ring.malformed }

// Close unmaps the ring.
func (r *CPURing) Close() error { return r.ring.unmap() }

// sharedRings waits for the rings of a session with Options.SharedRings. There, each record of some events wakes a
// waiting reader, and a wakeup costs the program that makes the record as much as the record. So after each wakeup,
// the rings wake nobody for a while.
//
// Once another reader follows the rings, they wake only that reader, because a ring reports new records only once.
type sharedRings struct {
	poll *poller
	fds  []int // of the events that own the rings; empty if samples come at a known rate

	mu       sync.Mutex // guards the fields below
	armed    bool       // the rings wake this reader
	followed bool       // the rings wake another reader, for good
}

// The longest waits of a reader: sharedTimeout for a first record, restTimeout for more after the first one woke it,
// and stormTimeout if the last look found more than stormPart of a ring in use. A million records a second, each with
// 2 KiB of stack, fill 32 MiB in 14 ms.
const (
	sharedTimeout = 20 * time.Millisecond
	restTimeout   = 5 * time.Millisecond
	stormTimeout  = 2 * time.Millisecond
	stormPart     = 1.0 / 64
)

// wait returns when it is time to look at the rings. used is the part of the fullest ring that was in use at the last
// look, from 0 to 1.
func (s *sharedRings) wait(used float64) error {
	if used > stormPart && len(s.fds) > 0 {
		_, err := s.waitFor(stormTimeout, false)
		return err
	}
	woken, err := s.waitFor(sharedTimeout, true)
	if woken && err == nil {
		_, err = s.waitFor(restTimeout, false)
	}
	return err
}

// waitFor waits for timeout at most. Rings end the wait only if arms is true. It reports whether anything ended the
// wait early.
func (s *sharedRings) waitFor(timeout time.Duration, arms bool) (woken bool, err error) {
	if err := s.arm(arms); err != nil {
		return false, err
	}
	return s.poll.waitFor(timeout)
}

// arm makes the rings wake this reader if arms is true and no other reader follows them. Otherwise they don't.
func (s *sharedRings) arm(arms bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	arms = arms && !s.followed
	if s.armed == arms {
		return nil
	}
	change := s.poll.removeRing
	if arms {
		change = s.poll.addRing
	}
	var err error
	for _, fd := range s.fds {
		err = errors.Join(err, change(fd))
	}
	s.armed = arms
	return err
}

// letFollow makes the rings wake another reader from now on.
func (s *sharedRings) letFollow() error {
	s.mu.Lock()
	s.followed = true
	s.mu.Unlock()
	return s.arm(false)
}
