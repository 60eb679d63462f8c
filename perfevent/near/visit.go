package near

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/ringtap/ringtap/perfevent"
)

// Visitor reads what it wants to know of a thread that stands still. Each CPU's thread has
// a visitor of its own, so that it may keep memory from one visit to the next.
type Visitor interface {
	// Visit is called on the real-time thread of the sample's CPU. It must not allocate,
	// lock, wait or write anywhere but to its own memory, and ends as soon as a method of
	// the visit fails with ErrTime. An error, which should be that of a method, makes the
	// reading None; what was kept until then is handed over all the same.
	Visit(v *Visit) error
}

// Chooser is a Visitor that looks at some samples only.
type Chooser interface {
	Visitor
	// Wants tells whether there is to be a reading of a sample. It is called as Visit is.
	Wants(s *perfevent.Sample) bool
}

// Hearer is a Visitor that learns while it works what Reader.Tell is given.
type Hearer interface {
	Visitor
	// Hear is called on an ordinary goroutine, the same for the visitors of all CPUs, while
	// Visit may be called. It may read files, and allocate what is needed: the helper
	// never collects garbage. What it prepares it publishes atomically.
	Hear(news []byte)
}

// New makes a visitor of a CPU. config is what Start was given.
type New func(config []byte) (Visitor, error)

// Errors of a visit's methods.
var (
	// ErrTime: the visit has taken Options.VisitTime.
	ErrTime = errors.New("the visit took too long")
	// ErrMemory: not all of the memory can be read.
	ErrMemory = errors.New("memory could not be read")
	// ErrFull: more was to be kept than Options.VisitBytes.
	ErrFull = errors.New("too much to keep")
)

// Visit is the way of a Visitor to a thread's memory.
type Visit struct {
	// Sample is what the thread was sampled with. It is valid during the visit.
	Sample *perfevent.Sample

	clock    *clock
	deadline uint64
	tid      int
	kept     []byte // what is handed over; its capacity is the limit
	word     [8]byte
	page     [pageSize]byte // the memory at pageAt, if that is not 0
	pageAt   uint64
	path     [32]byte
	local    unix.Iovec
	remote   unix.RemoteIovec
}

// begin prepares the visit of a sample.
func (v *Visit) begin(s *perfevent.Sample, room []byte, deadline uint64) {
	v.Sample, v.tid, v.kept, v.deadline = s, int(s.TID), room[:0], deadline
	v.pageAt = 0
}

// Register returns a user register of the sample by its number in the kernel's perf_regs.h,
// or 0 if the sample does not have it.
func (v *Visit) Register(number int) uint64 {
	r := &v.Sample.Regs
	i := bits.OnesCount64(r.Mask & (1<<number - 1))
	if r.Mask>>number&1 == 0 || i >= len(r.Values) {
		return 0
	}
	return r.Values[i]
}

// Read fills b with memory of the thread from addr on, or fails. b belongs to the visitor:
// a local array would be allocated.
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

// ReadMany fills b with pieces of the thread's memory, one behind the other, up to what can't be read, and
// returns how many bytes it has. b is as long as the pieces are together. A piece costs a quarter of what Read
// does.
func (v *Visit) ReadMany(pieces []unix.RemoteIovec, b []byte) (int, error) {
	if v.clock.now() > v.deadline {
		return 0, ErrTime
	}
	return v.read(pieces, b), nil
}

func (v *Visit) read(pieces []unix.RemoteIovec, b []byte) int {
	if len(pieces) == 0 || len(b) == 0 {
		return 0
	}
	v.local.Base = unsafe.SliceData(b)
	v.local.SetLen(len(b))
	// Not by the runtime's way, which could take the thread's P away meanwhile.
	n, _, errno := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(v.tid),
		uintptr(unsafe.Pointer(&v.local)), 1, uintptr(unsafe.Pointer(&pieces[0])), uintptr(len(pieces)), 0)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// Word reads 8 bytes in the machine's order.
func (v *Visit) Word(addr uint64) (uint64, error) {
	if err := v.Read(addr, v.word[:]); err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(v.word[:]), nil
}

// Peek returns n bytes of the thread's memory, which are valid until the next call. It reads
// the page that they lie in, so that what lies beside them costs no other system call: nodes
// of a list, frames of an interpreter. Bytes that lie in two pages are an error, ErrMemory.
func (v *Visit) Peek(addr uint64, n int) ([]byte, error) {
	at := addr &^ (pageSize - 1)
	from := addr - at
	if n < 0 || from+uint64(n) > pageSize {
		return nil, ErrMemory
	}
	if at != v.pageAt || at == 0 {
		v.pageAt = 0
		if err := v.Read(at, v.page[:]); err != nil {
			return nil, err
		}
		v.pageAt = at
	} else if v.clock.now() > v.deadline {
		return nil, ErrTime
	}
	return v.page[from : from+uint64(n)], nil
}

// PeekPage is Peek of all from addr to the end of its page.
func (v *Visit) PeekPage(addr uint64) ([]byte, error) {
	return v.Peek(addr, int(pageSize-addr%pageSize))
}

// Left is how many bytes can still be kept.
func (v *Visit) Left() int { return cap(v.kept) - len(v.kept) }

// Keep copies b to what is handed over.
func (v *Visit) Keep(b []byte) error {
	if cap(v.kept)-len(v.kept) < len(b) {
		return ErrFull
	}
	v.kept = append(v.kept, b...)
	return nil
}

// KeepWord keeps 8 bytes.
func (v *Visit) KeepWord(w uint64) error {
	if cap(v.kept)-len(v.kept) < 8 {
		return ErrFull
	}
	v.kept = binary.LittleEndian.AppendUint64(v.kept, w)
	return nil
}

// Load keeps n bytes of the thread's memory and returns them as they are kept.
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

// pageSize is what memory is mapped in at least.
const pageSize = 4096

// LoadString keeps the text at addr up to its NUL, without that, or its first limit bytes.
func (v *Visit) LoadString(addr uint64, limit int) ([]byte, error) {
	from := len(v.kept)
	for left := limit; left > 0; {
		n := min(int(pageSize-addr%pageSize), left, cap(v.kept)-len(v.kept))
		if n == 0 {
			return nil, ErrFull
		}
		at := len(v.kept)
		b, err := v.Load(addr, n)
		if err != nil {
			return nil, err
		}
		if end := bytes.IndexByte(b, 0); end >= 0 {
			v.kept = v.kept[:at+end]
			break
		}
		addr, left = addr+uint64(n), left-n
	}
	return v.kept[from:], nil
}

// reasonOf translates an error of a visitor.
func reasonOf(err error) Reason {
	switch err {
	case nil:
		return NoReason
	case ErrTime:
		return TimeUp
	case ErrFull:
		return Full
	}
	return NoMemory
}

// clock reads CLOCK_MONOTONIC without a system call.
type clock struct {
	start  time.Time
	offset uint64
}

// newClock compares the runtime's clock, which is the same with another origin, with the
// kernel's. The result is never too early, so that no end of a read is.
func newClock() *clock {
	c := &clock{start: time.Now()}
	best := time.Hour
	for range 100 {
		before := time.Since(c.start)
		now := perfevent.Now()
		if took := time.Since(c.start) - before; took < best {
			best, c.offset = took, now-uint64(before)
		}
	}
	return c
}

func (c *clock) now() uint64 { return c.offset + uint64(time.Since(c.start)) }
