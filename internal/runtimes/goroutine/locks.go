package goroutine

import "encoding/binary"

// A Lock is the mutex or channel that a goroutine waits for.
type Lock struct {
	Kind string // "sync.Mutex", "sync.RWMutex" or "chan"
	Addr uint64
	// Readers is how many readers hold the sync.RWMutex that the goroutine wants to write.
	Readers int
	// Writer is true if a writer holds the sync.RWMutex that the goroutine wants to read. Go's
	// mutexes do not record which goroutine holds them.
	Writer bool
}

// lockReasons are the wait reasons whose lock is shown. before is the distance in bytes from
// the start of the lock to the semaphore that the goroutine waits for (sync/mutex.go,
// sync/rwmutex.go).
var lockReasons = map[string]struct {
	kind   string
	before uint64
}{
	"sync.Mutex.Lock":    {"sync.Mutex", 4},
	"sync.RWMutex.Lock":  {"sync.RWMutex", 8},
	"sync.RWMutex.RLock": {"sync.RWMutex", 12},
	"chan receive":       {"chan", 0},
	"chan send":          {"chan", 0},
}

// sudog holds the offsets of fields in a runtime.sudog (runtime/runtime2.go). Its first three
// words are the goroutine and the links of a tree.
type sudog struct{ elem, waitlink, channel, size int }

const (
	sudogG    = 0
	sudogNext = 8
	sudogPrev = 16
)

// sudogs are the layouts of the known releases. Since Go 1.26 elem and c have two words: a
// pointer that the garbage collector follows, or nil, and the address.
var sudogs = []release[sudog]{
	{18, sudog{elem: 24, waitlink: 64, channel: 80, size: 88}},
	{26, sudog{elem: 32, waitlink: 72, channel: 96, size: 104}},
}

// Offsets in a sync.RWMutex.
const (
	rwReaders = 20 // readers that a writer is still waiting for
	rwSize    = 24
)

// readLocks finds the locks of p.states. If the goroutine is later found in the same wait, the
// lock belongs to that wait.
func (p *pass) readLocks() error {
	clear(p.locks)
	p.waits = nil
	minor, isRelease := minorOf(p.Version)
	fields, known := of(sudogs, minor)
	if !isRelease || !known {
		return nil
	}
	b := make([]byte, fields.size)
	for i := range p.states {
		s := &p.states[i]
		if s.status != waiting || int(s.reason) >= len(p.reasons) {
			continue
		}
		reason, known := lockReasons[p.reasons[s.reason]]
		if !known {
			continue
		}
		from := fields.elem
		if reason.kind == "chan" {
			from = fields.channel
		}
		addr := uint64(0)
		if s.waiting != 0 {
			ok, err := readAt(p.memory, s.waiting, b)
			if err != nil {
				return err
			}
			if ok && binary.LittleEndian.Uint64(b[sudogG:]) == s.addr {
				addr = binary.LittleEndian.Uint64(b[from:])
			}
		}
		if addr == 0 && reason.kind != "chan" { // before Go 1.26
			waits, err := p.semaphores(fields)
			if err != nil {
				return err
			}
			addr = waits[s.addr]
		}
		if addr <= reason.before {
			continue
		}
		lock := Lock{Kind: reason.kind, Addr: addr - reason.before}
		if err := p.readers(&lock, reason.before == 8); err != nil {
			return err
		}
		p.locks[s.addr] = lock
	}
	return nil
}

// readers reads who holds a sync.RWMutex.
func (p *pass) readers(lock *Lock, writes bool) error {
	if lock.Kind != "sync.RWMutex" {
		return nil
	}
	var b [rwSize]byte
	ok, err := readAt(p.memory, lock.Addr, b[:])
	if err != nil || !ok {
		return err
	}
	n := int(int32(binary.LittleEndian.Uint32(b[rwReaders:])))
	if writes {
		lock.Readers = max(n, 0)
	}
	lock.Writer = !writes && n == 0
	return nil
}

// Semaphores that goroutines wait for are in a hash table of trees (runtime/sema.go). Each
// entry has the size of one or two cache lines.
const (
	semRoots  = 251
	semTree   = 8 // offset of the tree's root in an entry
	maxSudogs = 1 << 17
)

// semaphores reads runtime.semtable. It returns the address of the semaphore that each
// goroutine waits for, by the goroutine's address. It returns nil if the table's address is
// unknown.
func (p *pass) semaphores(fields sudog) (map[uint64]uint64, error) {
	if p.sems.addr == 0 || p.sems.size%semRoots != 0 || p.sems.size > semRoots*256 {
		return nil, nil
	}
	if p.waits != nil {
		return p.waits, nil
	}
	p.waits = make(map[uint64]uint64)
	table := make([]byte, p.sems.size)
	if ok, err := readAt(p.memory, p.sems.addr, table); err != nil || !ok {
		return nil, err
	}
	var next []uint64
	entry := int(p.sems.size / semRoots)
	for at := semTree; at+8 <= len(table) && entry > semTree; at += entry {
		next = append(next, binary.LittleEndian.Uint64(table[at:]))
	}
	seen := make(map[uint64]bool)
	b := make([]byte, fields.size)
	for len(next) > 0 && len(seen) < maxSudogs {
		addr := next[len(next)-1]
		next = next[:len(next)-1]
		if addr == 0 || seen[addr] {
			continue
		}
		seen[addr] = true
		if ok, err := readAt(p.memory, addr, b); err != nil {
			return nil, err
		} else if !ok {
			continue // the tree changes while it is read
		}
		word := func(offset int) uint64 { return binary.LittleEndian.Uint64(b[offset:]) }
		p.waits[word(sudogG)] = word(fields.elem)
		next = append(next, word(sudogNext), word(sudogPrev), word(fields.waitlink))
	}
	return p.waits, nil
}
