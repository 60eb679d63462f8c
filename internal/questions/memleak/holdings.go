package memleak

import (
	"time"
	"unsafe"

	"github.com/ringtap/ringtap/internal/table"
)

// holdings is what is allocated in one address space and not free.
type holdings struct {
	*leakOptions
	memory    *memory
	addresses addresses
	regions   []region // sorted, without overlaps
	stale     []allocation
	sites     []site
	unused    []uint32 // indexes of sites that are none
	byRow     map[table.Row]uint32
	ended     uint64 // when the process's last thread so far has ended, if its first one has; else 0
}

// leakOptions is how allocations are counted, and what was not.
type leakOptions struct {
	Options

	missed uint64 // frees
	unkept uint64 // allocations, for want of memory
	begin  uint64 // of the run, nanoseconds
}

// site is the stack of allocations that stand.
type site struct {
	row    table.Row
	used   int    // allocations that refer to it
	bytes  uint64 // that they stand for
	counts uint64 // how many they stand for, in parts of countScale
}

// siteBytes is what a site takes, with its place in the map.
const siteBytes = int(unsafe.Sizeof(site{})) + 2*int(unsafe.Sizeof(table.Row{}))

func newHoldings(o *leakOptions, m *memory) *holdings {
	m.bytes += holdingsBytes
	return &holdings{leakOptions: o, memory: m, addresses: addresses{memory: m}, byRow: make(map[table.Row]uint32)}
}

// holdingsBytes is what an address space takes that holds nothing.
const holdingsBytes = 1 << 10

// clock is a time of records as allocations have it, which is good for 49 days.
func (o *leakOptions) clock(now uint64) uint32 {
	if now < o.begin {
		return 0
	}
	return uint32((now - o.begin) / uint64(time.Millisecond))
}

// add adds an allocation that was made at a time.
func (h *holdings) add(rows *table.Rows, row table.Row, address, size uint64, since uint32) {
	if old, ok := h.addresses.remove(address); ok {
		h.missed++
		if h.MissedFrees || !h.memory.take(rows, slotBytes) {
			h.drop(old)
		} else {
			h.stale = append(h.stale, old)
		}
	}
	i, ok := h.site(rows, row)
	if !ok {
		return
	}
	new := allocation{address: address, size: size, site: i, since: since}
	if !h.addresses.put(rows, new) {
		h.leaveOut(rows)
		return
	}
	h.count(new)
}

// site returns the index of the site of a row. It reports false if there is no
// memory for it, which Rows.Of has counted if it was so there.
func (h *holdings) site(rows *table.Rows, row table.Row) (uint32, bool) {
	if !row.Known() {
		h.unkept++
		return 0, false
	}
	if i, ok := h.byRow[row]; ok {
		return i, true
	}
	var i uint32
	if n := len(h.unused); n > 0 {
		i, h.unused = h.unused[n-1], h.unused[:n-1]
	} else {
		if !h.memory.take(rows, siteBytes) {
			h.leaveOut(rows)
			return 0, false
		}
		i = uint32(len(h.sites))
		h.sites = append(h.sites, site{})
	}
	h.sites[i] = site{row: row}
	h.byRow[row] = i
	return i, true
}

// leaveOut notes an allocation that there is no memory for.
func (h *holdings) leaveOut(rows *table.Rows) {
	h.unkept++
	rows.LeaveOut()
}

// count adds an allocation to its site.
func (h *holdings) count(a allocation) {
	bytes, counts := h.weigh(a.size)
	s := &h.sites[a.site]
	s.used++
	s.bytes += bytes
	s.counts += counts
}

// drop takes an allocation off its site.
func (h *holdings) drop(a allocation) {
	bytes, counts := h.weigh(a.size)
	s := &h.sites[a.site]
	s.used--
	s.bytes -= bytes
	s.counts -= counts
}

// free ends the allocation at an address, if it is known.
func (h *holdings) free(address uint64) (was allocation, row table.Row, ok bool) {
	if was, ok = h.addresses.remove(address); ok {
		row = h.sites[was.site].row
		h.drop(was)
	}
	return was, row, ok
}

// report adds what stands at a time to the columns, by Rows.Add or AddLast.
func (h *holdings) report(add addition, now uint64) {
	if h.Older > 0 {
		h.reportOlder(add, now)
		return
	}
	for i := range h.sites {
		add.leaked(&h.sites[i])
	}
}

// addition is a method of Rows that adds to a column.
type addition func(row table.Row, column int, n uint64)

// reportOlder does so for what has stood for some time.
func (h *holdings) reportOlder(add addition, now uint64) {
	if now < h.begin+uint64(h.Older) {
		return
	}
	latest := h.clock(now - uint64(h.Older))
	old := make([]site, len(h.sites))
	count := func(a *allocation) {
		if a.since > latest {
			return
		}
		bytes, counts := h.weigh(a.size)
		s := &old[a.site]
		s.bytes += bytes
		s.counts += counts
		s.used++
	}
	h.addresses.all(count)
	for i := range h.stale {
		count(&h.stale[i])
	}
	for i := range h.regions {
		r := &h.regions[i]
		if r.since <= latest {
			s := &old[r.site]
			s.bytes += r.bytes()
			s.counts += r.counts
			s.used++
		}
	}
	for i := range old {
		old[i].row = h.sites[i].row
		add.leaked(&old[i])
	}
}

// leaked adds a site to the collector's columns.
func (add addition) leaked(s *site) {
	if s.used > 0 {
		add(s.row, leakedSize, s.bytes)
		add(s.row, leakedCount, (s.counts+countScale/2)/countScale)
	}
}

// The columns.
const (
	leakedSize = iota
	leakedCount
)

// tidy forgets the sites that nothing refers to, and keeps the rows of the others.
func (h *holdings) tidy(rows *table.Rows) {
	for i := range h.sites {
		s := &h.sites[i]
		switch {
		case s.used > 0:
			rows.Keep(s.row)
		case s.row.Known():
			delete(h.byRow, s.row)
			*s = site{}
			h.unused = append(h.unused, uint32(i))
		}
	}
}

// clear forgets everything.
func (h *holdings) clear() {
	h.addresses.clear()
	h.memory.bytes -= holdingsBytes + len(h.sites)*siteBytes + len(h.stale)*slotBytes + len(h.regions)*regionBytes
	h.regions, h.stale, h.sites, h.unused = nil, nil, nil, nil
	clear(h.byRow)
}
