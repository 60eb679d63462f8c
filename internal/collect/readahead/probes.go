package readahead

import (
	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect/pages"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// probes are the kernel probes that replace missing tracepoints, and the two tracepoints of the
// page cache. Their arguments are kernel pointers to files' mappings (struct address_space), and
// page indexes.
type probes struct {
	begins, ends   []*ftrace.Format // page_cache_ra_unbounded and page_cache_ra_order, their entries and returns
	adds           *ftrace.Format   // filemap_add_folio: mapping
	reads          *ftrace.Format   // filemap_get_read_batch: mapping, index, last
	maps           *ftrace.Format   // do_set_pte or set_pte_range: mapping, index, and for the latter count
	added, deleted *ftrace.Format   // filemap:mm_filemap_add_to_page_cache, mm_filemap_delete_from_page_cache
}

// mappings finds a file by its mapping, for files that were read ahead. If the kernel reuses a
// mapping's memory for another file, the old file's pages have been deleted already.
type mappings struct {
	files  map[uint64]pages.File
	adding map[uint32]uint64 // mapping that a thread is adding a page to, by thread
}

// maxMappings bounds the files in mappings.
const maxMappings = 1 << 20

// newByProbes returns a readahead collector of a run that starts now.
func newByProbes(probes probes, stacks stack.Stacks) (*Collector, error) {
	c, err := newReadahead(probes.added, probes.deleted, stacks)
	if err != nil {
		return nil, err
	}
	known := mappings{files: make(map[uint64]pages.File), adding: make(map[uint32]uint64)}
	adds, reads, maps := probes.adds.Field("mapping"), probes.reads.Field("mapping"), probes.maps.Field("mapping")
	from, to, at, count := probes.reads.Field("index"), probes.reads.Field("last"), probes.maps.Field("index"), probes.maps.Field("count")
	for _, wanted := range []struct {
		field  *ftrace.Field
		format *ftrace.Format
		name   string
	}{{adds, probes.adds, "mapping"}, {reads, probes.reads, "mapping"}, {maps, probes.maps, "mapping"},
		{from, probes.reads, "index"}, {to, probes.reads, "last"}, {at, probes.maps, "index"}} {
		if wanted.field == nil {
			return nil, missing(wanted.format, wanted.name)
		}
	}
	// Two events report each added page: the probe has the mapping, and the tracepoint has the
	// file.
	added := &c.events[1]
	add := added.fold
	added.fold = func(rows *table.Rows, s *perfevent.Sample) {
		if first, _, ok := c.added.pages(s.Raw); ok && c.under[s.TID] != nil && known.adding[s.TID] != 0 {
			if len(known.files) >= maxMappings {
				clear(known.files)
			}
			known.files[known.adding[s.TID]] = first.File
		}
		delete(known.adding, s.TID)
		add(rows, s)
	}
	for i := range probes.begins {
		c.events = append(c.events, aheadEvent{Event: tracepoint(probes.begins[i]), begins: true, fold: c.entered},
			aheadEvent{Event: tracepoint(probes.ends[i]), fold: c.returned})
	}
	c.events = append(c.events,
		aheadEvent{Event: tracepoint(probes.adds), fold: func(_ *table.Rows, s *perfevent.Sample) {
			if mapping, ok := adds.Uint(s.Raw); ok && c.under[s.TID] != nil {
				known.adding[s.TID] = mapping
			}
		}},
		aheadEvent{Event: tracepoint(probes.reads), everyone: true, fold: func(_ *table.Rows, s *perfevent.Sample) {
			first, ok1 := from.Uint(s.Raw)
			last, ok2 := to.Uint(s.Raw)
			mapping, ok3 := reads.Uint(s.Raw)
			if f, ok := known.files[mapping]; ok && ok1 && ok2 && ok3 && last >= first {
				c.cache.Take(pages.Page{File: f, Index: first}, last-first+1, use)
			}
		}},
		aheadEvent{Event: tracepoint(probes.maps), everyone: true, fold: func(_ *table.Rows, s *perfevent.Sample) {
			first, ok1 := at.Uint(s.Raw)
			mapping, ok2 := maps.Uint(s.Raw)
			n := uint64(1)
			if count != nil {
				n, _ = count.Uint(s.Raw)
			}
			if f, ok := known.files[mapping]; ok && ok1 && ok2 {
				c.cache.Take(pages.Page{File: f, Index: first}, n, use)
			}
		}},
	)
	return c, nil
}

// entered handles a thread's call of a function that reads ahead.
func (c *Collector) entered(rows *table.Rows, s *perfevent.Sample) {
	pc, sp := entry(s)
	if r := c.under[s.TID]; r != nil && r.pc == pc && r.sp == sp && r.depth > 0 {
		r.depth++
		return
	}
	c.under[s.TID] = &reading{row: c.row(rows.Of(s)), anywhere: true, depth: 1, pc: pc, sp: sp}
}

// returned handles the return from such a function.
func (c *Collector) returned(_ *table.Rows, s *perfevent.Sample) {
	if r := c.under[s.TID]; r != nil {
		if r.depth--; r.depth <= 0 {
			delete(c.under, s.TID)
		}
	}
}
