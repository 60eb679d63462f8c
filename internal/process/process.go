package process

import (
	"slices"
	"time"

	"github.com/ringtap/ringtap/callchain"
)

// Process is one life of one process, from a fork or exec to the next exec or its end. The
// exported fields are read-only for callers. They change with records.
type Process struct {
	Index  int    // dense number of this life, from 0 (swapper); never reused
	PID    int    // tgid in our pid namespace
	NSPID  int    // tgid in the innermost pid namespace; 0 if the process ended before it was read
	TGID   int    // = PID
	Comm   string // name of the main thread: at most 15 raw bytes (kernel workers: 63)
	Cgroup string // path below the cgroup root, "" if unknown: see parseCgroup for which
	Parent int    // pid of the process that forked it, 0 if it existed before

	table        *Table
	since        uint64 // CLOCK_MONOTONIC, ns: older records are ignored
	mntNS, pidNS uint64 // inode numbers, 0 if unknown
	uids         [2]uint32
	nested       bool // it is in another pid namespace than ringtap
	unknown      bool // nothing could be read about it
	exited       bool // its main thread has exited
	seen         bool // looked up since it exited

	losses  int    // Table.losses when its mappings were last read
	missing reread // rereads for addresses on stacks
	missed  reread // rereads for addresses where a thread ran

	mappings []mapping // sorted, without overlaps
	shared   bool      // another process shares the slice
	last     int       // index of the mapping that Find last returned
	version  uint64
	anon     *Object // its memory without files
	heir     bool    // it may map the Anon object of the process it was forked from
	remapped int     // how often a record made readMaps search for copies of text

	trampoline  uint64 // valid for version trampolined
	trampolined uint64
}

// Find returns the executable mapping that contains an address. It allocates only when the
// mapping's object is hit for the first time: then the object gets its ID and its unwind table.
// Find implements callchain.AddressSpace.
func (p *Process) Find(pc uint64) (callchain.Mapping, bool) {
	i, ok := p.last, true
	if i >= len(p.mappings) || pc < p.mappings[i].start || pc >= p.mappings[i].end {
		if i, ok = find(p.mappings, pc); !ok {
			if i, ok = p.findAgain(pc); !ok {
				return callchain.Mapping{}, false
			}
		}
		p.last = i
	}
	m := &p.mappings[i]
	if o := m.object; o.reused != nil {
		if code, ok := p.table.findReused(o, pc); ok {
			m = &code
		}
	}
	if m.object.ID == callchain.Kernel || m.object.dropped {
		if p.table.Refuses() {
			return callchain.Mapping{}, false
		}
		p.table.name(p, m)
	}
	return callchain.Mapping{
		Start:  m.start,
		End:    m.end,
		Offset: m.offset,
		Object: m.object.ID,
		Table:  m.object.unwind,
	}, true
}

// Version implements callchain.Versioned. It changes with every change of the mappings, and is
// unique among all processes of the table.
func (p *Process) Version() uint64 { return p.version }

// Trampoline implements callchain.Probed.
func (p *Process) Trampoline() uint64 {
	if p.trampolined == p.version {
		return p.trampoline
	}
	p.trampoline, p.trampolined = 0, p.version
	for i := range p.mappings {
		if o := p.mappings[i].object; o != nil && o.Kind == Special && o.Path == "[uprobes]" {
			p.trampoline = p.mappings[i].start
		}
	}
	return p.trampoline
}

// ReadCode implements callchain.Coded. It reads from the object's file.
func (p *Process) ReadCode(object callchain.ObjectID, offset uint64, b []byte) int {
	o := p.table.objects[object]
	if o == nil || o.byAddress() || p.table.Refuses() {
		return 0
	}
	r, _, err := o.Open()
	if err != nil {
		return 0
	}
	n, _ := r.ReadAt(b, int64(offset)) // an error concerns only the missing bytes
	return n
}

// findAgain reads the mappings again for an address in none of the known ones. Records may have
// been lost. Other changes have no records: mremap(2), and mappings made by threads outside the
// session's target. But most such addresses are not code, and were found on a stack without
// frame pointers. So it rereads once after new losses, and otherwise with growing pauses.
func (p *Process) findAgain(pc uint64) (int, bool) {
	t := p.table
	now := t.now()
	if p.unknown || p.PID <= 0 || p.losses == t.losses && now < p.missing.again || t.Refuses() {
		return 0, false
	}
	p.losses = t.losses
	t.readMaps(p)
	i, ok := find(p.mappings, pc)
	p.missing.read(now, ok, minPause)
	return i, ok
}

// Ran reports whether the process has an executable mapping at an address where one of its
// threads ran. If it knows none there, it reads the mappings again. A process that shares its
// memory with another (clone(2) with CLONE_VM, vfork(2)) gets no records of the other's
// mappings.
func (p *Process) Ran(pc uint64) bool {
	if _, ok := find(p.mappings, pc); ok {
		return true
	}
	t := p.table
	now := t.now()
	if p.unknown || p.PID <= 0 || now < p.missed.again || t.Refuses() {
		return false
	}
	t.readMaps(p)
	_, ok := find(p.mappings, pc)
	p.missed.read(now, ok, minMissedPause)
	return ok
}

// reread limits how often a process's mappings are read again because of an address.
type reread struct{ again, pause uint64 } // ns

// read records a reading at now. If it found the address, the next reading may come after
// minPause, otherwise after twice the last pause.
func (r *reread) read(now uint64, found bool, minPause uint64) {
	r.pause = min(max(2*r.pause, minPause), maxPause)
	if found {
		r.pause = minPause
	}
	r.again = now + r.pause
}

// Pauses after reading a process's mappings, in nanoseconds, during which a missing address
// causes no other reading.
const (
	minPause       = uint64(time.Second)
	minMissedPause = uint64(10 * time.Millisecond) // reading thousands of mappings takes a millisecond
	maxPause       = uint64(time.Minute)
)

// put adds a mapping; a nil object makes a hole.
func (p *Process) put(m mapping) {
	if m.object != nil && covers(p.mappings, m) {
		return
	}
	if p.shared {
		p.mappings, p.shared = slices.Clone(p.mappings), false
	}
	p.mappings = overlay(p.mappings, m)
	p.changed()
}

// changed gives the mappings a new version.
func (p *Process) changed() {
	p.table.version++
	p.version = p.table.version
	p.last = 0
}
