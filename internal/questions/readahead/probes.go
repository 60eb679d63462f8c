package readahead

import (
	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/questions/pages"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// Probes are kernel probes that tell of readahead where the tracepoints do
// not, and the two tracepoints of the page cache. Their arguments are the kernel's
// pointers to files' mappings (struct address_space), and indexes of pages.
type Probes struct {
	Begins, Ends   []*ftrace.Format // page_cache_ra_unbounded and page_cache_ra_order, their entries and returns
	Adds           *ftrace.Format   // filemap_add_folio: mapping
	Reads          *ftrace.Format   // filemap_get_read_batch: mapping, index, last
	Maps           *ftrace.Format   // do_set_pte or set_pte_range: mapping, index, and count where it has one
	Added, Deleted *ftrace.Format   // filemap:mm_filemap_add_to_page_cache, mm_filemap_delete_from_page_cache
}

// mappings tells files by their mappings, of those that were read ahead. One that is
// used again for another file finds pages that have been deleted.
type mappings struct {
	files  map[uint64]pages.File
	adding map[uint32]uint64 // what a thread adds a page to, by thread
}

// maxMappings bounds the files that are known.
const maxMappings = 1 << 20

// NewByProbes makes a readahead collector of a run that begins now.
func NewByProbes(probes Probes, stacks stack.Stacks) (*Collector, error) {
	c, err := newReadahead(probes.Added, probes.Deleted, stacks)
	if err != nil {
		return nil, err
	}
	known := mappings{files: make(map[uint64]pages.File), adding: make(map[uint32]uint64)}
	adds, reads, maps := probes.Adds.Field("mapping"), probes.Reads.Field("mapping"), probes.Maps.Field("mapping")
	from, to, at, count := probes.Reads.Field("index"), probes.Reads.Field("last"), probes.Maps.Field("index"), probes.Maps.Field("count")
	for _, wanted := range []struct {
		field  *ftrace.Field
		format *ftrace.Format
		name   string
	}{{adds, probes.Adds, "mapping"}, {reads, probes.Reads, "mapping"}, {maps, probes.Maps, "mapping"},
		{from, probes.Reads, "index"}, {to, probes.Reads, "last"}, {at, probes.Maps, "index"}} {
		if wanted.field == nil {
			return nil, missing(wanted.format, wanted.name)
		}
	}
	// What is added is told twice: by the probe the mapping, by the tracepoint the file.
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
	for i := range probes.Begins {
		c.events = append(c.events, aheadEvent{Event: tracepoint(probes.Begins[i]), begins: true, fold: c.entered},
			aheadEvent{Event: tracepoint(probes.Ends[i]), fold: c.returned})
	}
	c.events = append(c.events,
		aheadEvent{Event: tracepoint(probes.Adds), fold: func(_ *table.Rows, s *perfevent.Sample) {
			if mapping, ok := adds.Uint(s.Raw); ok && c.under[s.TID] != nil {
				known.adding[s.TID] = mapping
			}
		}},
		aheadEvent{Event: tracepoint(probes.Reads), everyone: true, fold: func(_ *table.Rows, s *perfevent.Sample) {
			first, ok1 := from.Uint(s.Raw)
			last, ok2 := to.Uint(s.Raw)
			mapping, ok3 := reads.Uint(s.Raw)
			if f, ok := known.files[mapping]; ok && ok1 && ok2 && ok3 && last >= first {
				c.cache.Take(pages.Page{File: f, Index: first}, last-first+1, use)
			}
		}},
		aheadEvent{Event: tracepoint(probes.Maps), everyone: true, fold: func(_ *table.Rows, s *perfevent.Sample) {
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

// entered sees a thread enter a function that reads ahead.
func (c *Collector) entered(rows *table.Rows, s *perfevent.Sample) {
	pc, sp := entry(s)
	if r := c.under[s.TID]; r != nil && r.pc == pc && r.sp == sp && r.depth > 0 {
		r.depth++
		return
	}
	c.under[s.TID] = &reading{row: c.row(rows.Of(s)), anywhere: true, depth: 1, pc: pc, sp: sp}
}

// returned sees a thread return from one.
func (c *Collector) returned(_ *table.Rows, s *perfevent.Sample) {
	if r := c.under[s.TID]; r != nil {
		if r.depth--; r.depth <= 0 {
			delete(c.under, s.TID)
		}
	}
}
