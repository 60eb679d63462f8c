package memleak

import (
	"time"
	"unsafe"

	"github.com/ringtap/ringtap/internal/collect/table"
)

// holdings is the memory of one address space that was allocated and not freed.
type holdings struct {
	*leakOptions
	memory    *memory
	addresses addresses
	regions   []region // sorted, without overlaps
	stale     []allocation
	sites     []site
	unused    []uint32 // indexes of unused sites
	byKey     map[siteKey]uint32
	strata    map[stratum]*readings
	ended     uint64 // when the last thread that has ended did so, if the first thread is among them; else 0
}

// leakOptions says how allocations are counted. It also counts what was missed.
type leakOptions struct {
	Options

	missed uint64 // frees that were not seen
	unkept uint64 // allocations that there was no memory for
	begin  uint64 // start of the run, nanoseconds

	reading Reading // of the memory in the last report
}

// site is a stack, and the allocations that it made and that were not freed.
type site struct {
	siteKey
	used   int    // allocations that refer to it
	bytes  uint64 // that the allocations stand for
	counts uint64 // how many the allocations stand for, in units of 1/countScale
}

// siteBytes is the memory of a site, with its entry in the map.
const siteBytes = int(unsafe.Sizeof(site{})) + 2*int(unsafe.Sizeof(siteKey{}))

func newHoldings(o *leakOptions, m *memory) *holdings {
	m.bytes += holdingsBytes
	return &holdings{leakOptions: o, memory: m, addresses: addresses{memory: m}, byKey: make(map[siteKey]uint32), strata: make(map[stratum]*readings)}
}

// holdingsBytes is the memory of an empty holdings.
const holdingsBytes = 1 << 10

// clock converts a record's time to milliseconds since the start of the run. It overflows after 49
// days.
func (o *leakOptions) clock(now uint64) uint32 {
	if now < o.begin {
		return 0
	}
	return uint32((now - o.begin) / uint64(time.Millisecond))
}

// add adds an allocation that c made at the time since.
func (h *holdings) add(rows *table.Rows, c caller, address, size uint64, since uint32) {
	h.put(rows, h.siteOf(rows, c, size), allocation{address: address, size: size, since: since})
}

// put adds an allocation to a site. If another allocation is at the same address, its free was
// missed.
func (h *holdings) put(rows *table.Rows, key siteKey, a allocation) {
	if old, ok := h.addresses.remove(a.address); ok {
		h.missed++
		if h.MissedFrees || !h.memory.take(rows, slotBytes) {
			h.drop(old)
		} else {
			h.stale = append(h.stale, old)
		}
	}
	i, ok := h.site(rows, key)
	if !ok {
		return
	}
	a.site = i
	if !h.addresses.put(rows, a) {
		h.leaveOut(rows)
		return
	}
	h.count(a)
}

// site returns the index of a site. It returns false if there is no memory for it. If the row is
// not Known, Rows.Of has already counted that.
func (h *holdings) site(rows *table.Rows, key siteKey) (uint32, bool) {
	if !key.row.Known() {
		h.unkept++
		return 0, false
	}
	if i, ok := h.byKey[key]; ok {
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
	h.sites[i] = site{siteKey: key}
	h.byKey[key] = i
	return i, true
}

// leaveOut counts an allocation that there is no memory for.
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

// drop subtracts an allocation from its site.
func (h *holdings) drop(a allocation) {
	bytes, counts := h.weigh(a.size)
	s := &h.sites[a.site]
	s.used--
	s.bytes -= bytes
	s.counts -= counts
}

// free ends the allocation at an address. It returns false if none is known there.
func (h *holdings) free(address uint64) (was allocation, key siteKey, ok bool) {
	if was, ok = h.addresses.remove(address); ok {
		key = h.sites[was.site].siteKey
		h.drop(was)
	}
	return was, key, ok
}

// report adds the memory that is not free to the columns. add is Rows.Add or Rows.AddLast.
func (h *holdings) report(add addition, now uint64) {
	if h.Older > 0 {
		h.reportOlder(add, now)
		return
	}
	h.reportAll(add, h.sites)
}

// reportAll adds the memory of sites to the columns.
func (h *holdings) reportAll(add addition, sites []site) {
	for _, s := range h.reading.share(sites) {
		add.leaked(&s)
	}
}

// addition is a method of Rows that adds to a column.
type addition func(row table.Row, column int, n uint64)

// reportOlder is report for memory that is older than Older.
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
		old[i].siteKey = h.sites[i].siteKey
	}
	h.reportAll(add, old)
}

// leaked adds a site to the columns.
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

// tidy removes sites without allocations, and keeps the rows of the others.
func (h *holdings) tidy(rows *table.Rows) {
	for i := range h.sites {
		s := &h.sites[i]
		switch {
		case s.used > 0:
			s.keep(rows)
		case s.row.Known():
			delete(h.byKey, s.siteKey)
			*s = site{}
			h.unused = append(h.unused, uint32(i))
		}
	}
	h.tidyStrata()
}

// clear removes everything.
func (h *holdings) clear() {
	h.addresses.clear()
	h.memory.bytes -= holdingsBytes + len(h.sites)*siteBytes + len(h.stale)*slotBytes + len(h.regions)*regionBytes + len(h.strata)*stratumBytes
	h.regions, h.stale, h.sites, h.unused = nil, nil, nil, nil
	clear(h.byKey)
	clear(h.strata)
}
