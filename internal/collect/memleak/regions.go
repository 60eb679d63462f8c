package memleak

import (
	"cmp"
	"os"
	"slices"
	"unsafe"

	"github.com/ringtap/ringtap/internal/collect/table"
)

// region is a mapping, or a remaining part of one.
type region struct {
	begin, end uint64
	scale      float64 // bytes that each of its bytes stands for
	counts     uint64  // mappings that it stands for, in units of 1/countScale
	site       uint32
	since      uint32
}

const regionBytes = int(unsafe.Sizeof(region{}))

// bytes returns how many bytes the region stands for.
func (r *region) bytes() uint64 { return uint64(float64(r.end-r.begin)*r.scale + 0.5) }

// mapped adds a mapping. It replaces earlier mappings at the same place, like MAP_FIXED.
func (h *holdings) mapped(rows *table.Rows, c caller, address, size uint64, since uint32) {
	h.unmapped(rows, address, size)
	if size == 0 || address+size < address {
		return
	}
	i, ok := h.site(rows, h.siteOf(rows, c, size))
	if !ok {
		return
	}
	bytes, counts := h.weigh(size)
	new := region{begin: address, end: address + size, scale: float64(bytes) / float64(size), counts: counts, site: i, since: since}
	h.insert(rows, new)
}

// insert adds a region that does not overlap any other.
func (h *holdings) insert(rows *table.Rows, r region) {
	if !h.memory.take(rows, regionBytes) {
		h.leaveOut(rows)
		return
	}
	at, _ := slices.BinarySearchFunc(h.regions, r.begin, func(r region, begin uint64) int { return cmp.Compare(r.begin, begin) })
	h.regions = slices.Insert(h.regions, at, r)
	s := &h.sites[r.site]
	s.used++
	s.bytes += r.bytes()
	s.counts += r.counts
}

// maxAddress is beyond the address space of any program, even with five levels of page tables.
const maxAddress = 1 << 57

// unmapped removes the pages of a range. If a part of a mapping remains, it counts as one mapping.
// Two remaining parts count as two. unmapped returns the first mapping in the range as it was, for
// a caller that moves it.
func (h *holdings) unmapped(rows *table.Rows, address, size uint64) (first region, row table.Row, ok bool) {
	page := uint64(os.Getpagesize())
	end := (address + size + page - 1) &^ (page - 1)
	if end <= address || address%page != 0 || end > maxAddress { // the kernel returns EINVAL and unmaps nothing
		return region{}, table.Row{}, false
	}
	from, _ := slices.BinarySearchFunc(h.regions, address, func(r region, address uint64) int {
		if r.end <= address {
			return -1
		}
		return 1
	})
	to := from
	var left []region
	for ; to < len(h.regions) && h.regions[to].begin < end; to++ {
		r := h.regions[to]
		s := &h.sites[r.site]
		s.used--
		s.bytes -= r.bytes()
		s.counts -= r.counts
		if !ok {
			first, row, ok = r, s.row, true
		}
		if r.begin < address {
			left = append(left, region{r.begin, address, r.scale, r.counts, r.site, r.since})
		}
		if r.end > end {
			left = append(left, region{end, r.end, r.scale, r.counts, r.site, r.since})
		}
	}
	if !ok {
		return region{}, table.Row{}, false
	}
	h.memory.bytes -= (to - from) * regionBytes
	h.regions = slices.Delete(h.regions, from, to)
	for _, r := range left {
		h.insert(rows, r)
	}
	return first, row, true
}
