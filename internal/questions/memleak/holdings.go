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
	byKey     map[siteKey]uint32
	strata    map[stratum]*readings
	ended     uint64 // when the process's last thread so far has ended, if its first one has; else 0
}

// leakOptions is how allocations are counted, and what was not.
type leakOptions struct {
	Options

	missed uint64 // frees
	unkept uint64 // allocations, for want of memory
	begin  uint64 // of the run, nanoseconds

	reading Reading // of the memory in the last report
}

// site is the stack of allocations that stand.
type site struct {
	siteKey
	used   int    // allocations that refer to it
	bytes  uint64 // that they stand for
	counts uint64 // how many they stand for, in parts of countScale
}

// siteBytes is what a site takes, with its place in the map.
const siteBytes = int(unsafe.Sizeof(site{})) + 2*int(unsafe.Sizeof(siteKey{}))

func newHoldings(o *leakOptions, m *memory) *holdings {
	m.bytes += holdingsBytes
	return &holdings{leakOptions: o, memory: m, addresses: addresses{memory: m}, byKey: make(map[siteKey]uint32), strata: make(map[stratum]*readings)}
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
func (h *holdings) add(rows *table.Rows, by caller, address, size uint64, since uint32) {
	h.put(rows, h.siteOf(rows, by, size), allocation{address: address, size: size, since: since})
}

// put adds an allocation to a site, in place of an earlier one at its address whose free was not seen.
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

// site returns the index of a site. It reports false if there is no
// memory for it, which Rows.Of has counted if it was so there.
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
func (h *holdings) free(address uint64) (was allocation, key siteKey, ok bool) {
	if was, ok = h.addresses.remove(address); ok {
		key = h.sites[was.site].siteKey
		h.drop(was)
	}
	return was, key, ok
}

// report adds what stands at a time to the columns, by Rows.Add or AddLast.
func (h *holdings) report(add addition, now uint64) {
	if h.Older > 0 {
		h.reportOlder(add, now)
		return
	}
	h.reportAll(add, h.sites)
}

// reportAll adds what stands at sites to the columns.
func (h *holdings) reportAll(add addition, sites []site) {
	for _, s := range h.reading.share(sites) {
		add.leaked(&s)
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
		old[i].siteKey = h.sites[i].siteKey
	}
	h.reportAll(add, old)
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
			s.keep(rows)
		case s.row.Known():
			delete(h.byKey, s.siteKey)
			*s = site{}
			h.unused = append(h.unused, uint32(i))
		}
	}
	h.tidyStrata()
}

// clear forgets everything.
func (h *holdings) clear() {
	h.addresses.clear()
	h.memory.bytes -= holdingsBytes + len(h.sites)*siteBytes + len(h.stale)*slotBytes + len(h.regions)*regionBytes + len(h.strata)*stratumBytes
	h.regions, h.stale, h.sites, h.unused = nil, nil, nil, nil
	clear(h.byKey)
	clear(h.strata)
}
