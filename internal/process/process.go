package process

import (
	"slices"

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

	table        *Table
	since        uint64 // CLOCK_MONOTONIC, ns: older records are no news
	mntNS, pidNS uint64 // inode numbers, 0 if unknown
	uids         [2]uint32
	nested       bool // it is in another pid namespace than we are
	unknown      bool // nothing could be read of it
	exited       bool // its main thread is gone
	seen         bool // asked for since it exited
	losses       int  // Table.losses when its mappings were read

	mappings []mapping // sorted, without overlaps
	shared   bool      // another process has the same slice
	last     int       // index of the mapping that Find returned last
	version  uint64
	anon     *Object // its memory without files
}

// Find returns the executable mapping that holds an address. It allocates only
// when the mapping's object is met for the first time: then it gets its ID and
// its unwind table. It implements callchain.AddressSpace.
func (p *Process) Find(pc uint64) (callchain.Mapping, bool) {
	i, ok := p.last, true
	if i >= len(p.mappings) || pc < p.mappings[i].start || pc >= p.mappings[i].end {
		if i, ok = find(p.mappings, pc); !ok {
			if i, ok = p.findAfterLoss(pc); !ok {
				return callchain.Mapping{}, false
			}
		}
		p.last = i
	}
	m := &p.mappings[i]
	if m.object.ID == callchain.Kernel {
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

// Exited tells whether the process's main thread has exited.
func (p *Process) Exited() bool { return p.exited }

// findAfterLoss finds an address that is not in the known mappings. If records
// were lost since these were read, one of them may have told of it: then they
// are read again, once for any number of losses.
func (p *Process) findAfterLoss(pc uint64) (int, bool) {
	if p.losses == p.table.losses || p.exited {
		return 0, false
	}
	p.table.reread(p)
	return find(p.mappings, pc)
}

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
