package readahead

import (
	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Formats are the tracepoints of readahead. Linux 6.18 and later have all of them.
type Formats struct {
	unbounded, order *ftrace.Format // readahead:page_cache_ra_unbounded, page_cache_ra_order
	added, deleted   *ftrace.Format // filemap:mm_filemap_add_to_page_cache, mm_filemap_delete_from_page_cache
	got, mapped      *ftrace.Format // filemap:mm_filemap_get_pages, mm_filemap_map_pages
	faulted          *ftrace.Format // filemap:mm_filemap_fault
}

// New returns a readahead collector of a run that starts now.
func New(formats Formats, stacks stack.Stacks) (*Collector, error) {
	c, err := newReadahead(formats.added, formats.deleted, stacks)
	if err != nil {
		return nil, err
	}
	var unbounded, order beginFields
	var got, mapped rangeFields
	var faulted pageFields
	for _, err := range []error{
		unbounded.find(formats.unbounded, "nr_to_read"), order.find(formats.order, "size"),
		got.find(formats.got), mapped.find(formats.mapped), faulted.find(formats.faulted),
	} {
		if err != nil {
			return nil, err
		}
	}
	c.events = append(c.events,
		aheadEvent{Event: tracepoint(formats.unbounded), begins: true, fold: func(rows *table.Rows, s *perfevent.Sample) { c.begin(rows, s, &unbounded) }},
		aheadEvent{Event: tracepoint(formats.order), begins: true, fold: func(rows *table.Rows, s *perfevent.Sample) { c.begin(rows, s, &order) }},
		aheadEvent{Event: tracepoint(formats.got), everyone: true, fold: func(_ *table.Rows, s *perfevent.Sample) {
			if first, n, ok := got.pages(s.Raw); ok {
				end := first.Index + n
				first = c.reads.used(s.TID, first, end-1, c.under[s.TID])
				c.cache.Take(first, end-first.Index, use)
			}
			c.over(s.TID)
		}},
		aheadEvent{Event: tracepoint(formats.mapped), everyone: true, fold: func(_ *table.Rows, s *perfevent.Sample) {
			if first, n, ok := mapped.pages(s.Raw); ok {
				c.cache.Take(first, n, use)
			}
			c.over(s.TID)
		}},
		aheadEvent{Event: tracepoint(formats.faulted), everyone: true, fold: func(_ *table.Rows, s *perfevent.Sample) {
			c.over(s.TID)
			if at, _, ok := faulted.pages(s.Raw); ok {
				c.faults[s.TID] = at // readahead may follow because of that
				c.cache.Take(at, 1, use)
			}
		}},
	)
	return c, nil
}

// begin starts a readahead of a thread.
func (c *Collector) begin(rows *table.Rows, s *perfevent.Sample, fields *beginFields) {
	first, n, ok := fields.pages(s.Raw)
	if !ok || n == 0 {
		return
	}
	last := first
	last.Index += n - 1
	r := &reading{row: c.row(rows.Of(s)), first: first, last: last}
	r.pc, r.sp = entry(s)
	c.under[s.TID] = r
}
