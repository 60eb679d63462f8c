package athit

import (
	"bytes"
	"slices"

	"github.com/ringtap/ringtap/internal/process"
	"github.com/ringtap/ringtap/internal/readmem/helper"
	"github.com/ringtap/ringtap/perfevent"
)

// lateMemory reads the memory of a sample's process as it is now. Words come from the copy of the stack if it has
// them.
type lateMemory struct {
	walker
	host   process.Host
	sample *perfevent.Sample
	late   bool // anything was read from the process
	found  []byte
	page   [4096]byte
}

func (r *Reader) lateMemory(s *perfevent.Sample) *lateMemory {
	m := &lateMemory{host: r.opts.Host, sample: s}
	m.memory = m
	return m
}

// load reads the process's memory at addr into b, and returns the part of b that it could fill.
func (m *lateMemory) load(addr uint64, b []byte) []byte {
	m.late = true
	n := m.host.ReadMemory(int(m.sample.TID), addr, b)
	if n == 0 && m.sample.PID != m.sample.TID {
		n = m.host.ReadMemory(int(m.sample.PID), addr, b) // the thread may have ended before its process
	}
	return b[:n]
}

// PeekPage implements memory.
func (m *lateMemory) PeekPage(addr uint64) ([]byte, error) {
	b := m.load(addr, m.page[addr%uint64(len(m.page)):])
	if len(b) == 0 {
		return nil, helper.ErrMemory
	}
	return b, nil
}

// Word implements memory.
func (m *lateMemory) Word(addr uint64) (uint64, error) {
	b := StackCopy(m.sample, addr)
	if len(b) < 8 {
		b = m.load(addr, m.page[:8])
	}
	if len(b) < 8 {
		return 0, helper.ErrMemory
	}
	return wordOf(b), nil
}

// Keep implements memory.
func (m *lateMemory) Keep(b []byte) error {
	m.found = append(m.found, b...)
	return nil
}

// find returns what p leads to if the pointer's value is pointer. Its bytes all come from the copy of the stack, or
// all from the process.
func (m *lateMemory) find(p *Pointer, pointer uint64) Found {
	f := Found{Addr: pointer, Certainty: Exact}
	m.found, m.late = nil, false
	addr, err := m.follow(pointer, p.Path)
	if err == nil && addr != 0 {
		known := StackCopy(m.sample, addr)
		known = known[:min(len(known), p.Limit)]
		end := bytes.IndexByte(known, 0)
		switch {
		case p.Raw && len(known) == p.Limit:
			f.Read, f.Cut, f.Bytes = true, true, bytes.Clone(known)
		case !p.Raw && !p.Vector && end >= 0:
			f.Read, f.Bytes = true, bytes.Clone(known[:end])
		default:
			length, s, err := m.at(p, addr)
			f.Read, f.Cut = err == nil && s != unread, s == cut
			if f.Read {
				f.Bytes = m.found[:length]
			}
		}
	}
	if m.late {
		f.Certainty = Late
	}
	return f
}

// Find returns what p leads to in a sample's process if the pointer's value is pointer: from the copy of the stack,
// or from the process as it is now. If the process runs another program by now, it returns nothing.
func (r *Reader) Find(s *perfevent.Sample, p *Pointer, pointer uint64) Found {
	f := r.lateMemory(s).find(p, pointer)
	if f.Certainty == Late && r.Replaced(s) {
		return Found{Addr: pointer, Certainty: Late}
	}
	return f
}

// Replaced reports whether the process of a sample is known to run another program by now.
func (r *Reader) Replaced(s *perfevent.Sample) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.programs.execBetween(s.PID, s.Time, ^uint64(0))
}

// programs has the times when processes started to run another program (execve(2)), CLOCK_MONOTONIC in nanoseconds.
// It keeps at least the latest maxProcesses processes.
type programs struct{ recent, older map[uint32][]uint64 }

// Bounds of programs: the processes of each half, and the programs of a process.
const (
	maxProcesses = 1 << 16
	maxPrograms  = 16
)

func (p *programs) add(pid uint32, when uint64) {
	if p.recent == nil || len(p.recent) >= maxProcesses {
		p.recent, p.older = make(map[uint32][]uint64), p.recent
	}
	times := p.recent[pid]
	p.recent[pid] = append(times[max(0, len(times)-maxPrograms+1):], when)
}

// execBetween reports whether a process started to run another program between two times.
func (p *programs) execBetween(pid uint32, from, to uint64) bool {
	between := func(when uint64) bool { return from < when && when < to }
	return slices.ContainsFunc(p.recent[pid], between) || slices.ContainsFunc(p.older[pid], between)
}

// arrivals is the memory that Seen has read, until Take asks for it.
type arrivals struct {
	pending map[sampleKey]*arrival
	order   []sampleKey          // oldest first; some are not pending any more
	last    map[uint32]*arrival  // by thread ID
	fixed   map[uint32]*readOnly // by process ID
}

// maxPending is how many samples Seen keeps memory for.
const maxPending = 1 << 16

// sampleKey names a sample.
type sampleKey struct {
	time     uint64
	tid, cpu uint32
}

func keyOf(s *perfevent.Sample) sampleKey { return sampleKey{s.Time, s.TID, s.CPU} }

// arrival is the memory that Seen has read for one sample. The times are CLOCK_MONOTONIC in nanoseconds.
type arrival struct {
	hit, read uint64
	pointers  []Pointer
	found     []Found
}

// arrived reads the pointers of a sample that have AtArrival.
func (r *Reader) arrived(pointers []Pointer, s *perfevent.Sample) {
	if !slices.ContainsFunc(pointers, func(p Pointer) bool { return p.AtArrival }) {
		return
	}
	a := &arrival{hit: s.Time, pointers: pointers, found: make([]Found, len(pointers))}
	m := r.lateMemory(s)
	for i := range pointers {
		p := &pointers[i]
		pointer, _ := p.value(s)
		switch {
		case !p.AtArrival:
		case p.Recorded != nil && p.Recorded(s.Raw):
			a.found[i] = Found{Addr: pointer, Certainty: Recorded}
		default:
			a.found[i] = m.find(p, pointer)
		}
	}
	a.read = r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.overwritten(s, a)
	k := keyOf(s)
	r.pending[k] = a
	r.order = append(r.order, k)
	for len(r.order) > maxPending {
		delete(r.pending, r.order[0])
		r.order = r.order[1:]
	}
}

// overwritten drops late texts of the thread's previous sample if the thread had reached a's hit before they were
// read, and uses the same memory for another text there. Memory that the process can't write to has not changed.
// The caller holds the lock.
func (r *Reader) overwritten(s *perfevent.Sample, a *arrival) {
	before := r.last[s.TID]
	r.last[s.TID] = a
	if before == nil || before.read < a.hit {
		return
	}
	for i := range before.found {
		f := &before.found[i]
		if before.pointers[i].Raw || f.Certainty != Late || !f.Read {
			continue
		}
		again := slices.ContainsFunc(a.found, func(next Found) bool {
			if next.Addr == f.Addr {
				return next.Certainty == Recorded || bytes.Equal(next.Bytes, f.Bytes)
			}
			return next.Addr+samePlace > f.Addr && next.Addr < f.Addr+samePlace
		})
		if again && !r.isReadOnly(s.PID, f.Addr) {
			*f = Found{Addr: f.Addr, Certainty: Late}
		}
	}
}

// samePlace is the distance in bytes below which two texts share memory: a heap has no smaller pieces.
const samePlace = 16

// take returns the memory that Seen has read for a sample, once, or nil. The caller holds the lock.
func (r *Reader) take(s *perfevent.Sample) []Found {
	k := keyOf(s)
	a := r.pending[k]
	if a == nil {
		return nil
	}
	delete(r.pending, k)
	for len(r.order) > 0 && r.pending[r.order[0]] == nil {
		r.order = r.order[1:]
	}
	found := a.found
	a.found = nil // overwritten must not change it any more
	if r.programs.execBetween(s.PID, a.hit, a.read) {
		for i := range found {
			if f := &found[i]; f.Certainty == Late {
				*f = Found{Addr: f.Addr, Certainty: Late}
			}
		}
	}
	return found
}

// readOnly is the memory that a process can't write to.
type readOnly struct {
	ranges [][2]uint64 // [from, to)
	read   uint64      // when, CLOCK_MONOTONIC in nanoseconds
}

// readOnlyFor is how long, in nanoseconds, an address that is missing in the list counts as writable.
const readOnlyFor = 1_000_000_000

// isReadOnly reports whether a process can't write to the memory at addr.
func (r *Reader) isReadOnly(pid uint32, addr uint64) bool {
	has := func(m *readOnly) bool {
		return slices.ContainsFunc(m.ranges, func(one [2]uint64) bool { return one[0] <= addr && addr < one[1] })
	}
	m := r.fixed[pid]
	if m == nil || !has(m) && r.now()-m.read > readOnlyFor {
		m = &readOnly{read: r.now()}
		_ = r.opts.Host.Areas(int(pid), func(a *process.Area) bool { // none if the process is gone
			if !a.Writable {
				m.ranges = append(m.ranges, [2]uint64{a.Start, a.End})
			}
			return true
		})
		r.fixed[pid] = m
	}
	return has(m)
}
