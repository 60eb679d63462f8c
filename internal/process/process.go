package process

import (
	"slices"
	"time"

	"github.com/ringtap/ringtap/callchain"
)

// Process is one life of one process between exec calls. Its exported fields
// are to be read only, and change as records say so.
type Process struct {
	Index  int    // dense number of this life, from 0 (swapper) on; never used again
	PID    int    // tgid in our pid namespace
	NSPID  int    // tgid in the innermost pid namespace; 0 if it was gone before it could be read
	TGID   int    // = PID
	Comm   string // name of the main thread: at most 15 raw bytes (kernel workers: 63)
	Cgroup string // path below the cgroup root, "" if unknown: see parseCgroup for which
	Parent int    // pid of who forked it, 0 if it was there before

	table        *Table
	since        uint64 // CLOCK_MONOTONIC, ns: older records are no news
	mntNS, pidNS uint64 // inode numbers, 0 if unknown
	uids         [2]uint32
	nested       bool // it is in another pid namespace than we are
	unknown      bool // nothing could be read of it
	exited       bool // its main thread is gone
	seen         bool // asked for since it exited

	losses  int    // Table.losses when its mappings were read last
	missing reread // of addresses on stacks
	missed  reread // of addresses where a thread ran

	mappings []mapping // sorted, without overlaps
	shared   bool      // another process has the same slice
	last     int       // index of the mapping that Find returned last
	version  uint64
	anon     *Object // its memory without files
	heir     bool    // it may map the Anon object of a process that it was forked from
	remapped int     // how often readMaps looked for copies of text because of a record

	trampoline  uint64 // as of the version
	trampolined uint64
}

// Find returns the executable mapping that holds an address. It allocates only
// when the mapping's object is met for the first time: then it gets its ID and
// its unwind table. It implements callchain.AddressSpace.
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

// Version implements callchain.Versioned: it changes with every change of the
// mappings, and no other process of the table has or had it.
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

// ReadCode implements callchain.Coded: it reads the file that an object is.
func (p *Process) ReadCode(object callchain.ObjectID, offset uint64, b []byte) int {
	o := p.table.objects[object]
	if o == nil || o.byAddress() || p.table.Refuses() {
		return 0
	}
	r, _, err := o.Open()
	if err != nil {
		return 0
	}
	n, _ := r.ReadAt(b, int64(offset)) // an error is of what is left
	return n
}

// findAgain reads the mappings again for an address that is in none of the
// known ones. Records may have been lost, and some things have none: mremap(2),
// and what threads do that are not of the session's target. But most such
// addresses are none, found on a stack without frame pointers: so it is done
// once for any number of losses, and else ever more seldom.
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

// Ran reports whether the process has an executable mapping at an address where one of its threads
// ran. If it knows of no mapping there, Ran reads the mappings again: a process that shares its memory with another
// one (clone(2) with CLONE_VM, vfork(2)) gets no records of what that one maps.
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

// reread says when the mappings of a process may be read again because of an address.
type reread struct{ again, pause uint64 } // ns

// read notes that the mappings were read now. If the address is in one of them, the next reading
// may come after the least pause, else after twice the last pause.
func (r *reread) read(now uint64, found bool, least uint64) {
	r.pause = min(max(2*r.pause, least), maxPause)
	if found {
		r.pause = least
	}
	r.again = now + r.pause
}

// How long, in nanoseconds, after a reading of a process's mappings a missing address does not
// cause another.
const (
	minPause       = uint64(time.Second)
	minMissedPause = uint64(10 * time.Millisecond) // reading takes a millisecond where there are thousands
	maxPause       = uint64(time.Minute)
)

// put enters a mapping; a nil object makes a hole.
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
