// Package readahead is the collector of the pages that the kernel reads ahead, used and
// unused.
package readahead

import (
	"errors"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/questions/pages"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector is the readahead collector: the pages that the kernel read ahead, by
// the stack that had it do so, and which of them have been read since. Both columns
// tell of the whole run so far: a page moves from unused to used when something
// reads it, and stays unused for good when it leaves the cache before.
//
// A thread's readahead is what it adds to the page cache, in the same entry of the
// kernel, after the kernel says that it begins one, and within the range that was
// said; the pages that were asked for themselves are among them. A page counts as
// used when a read asks for it or when it is mapped: what a program does with mapped
// memory afterwards is not seen. What others do to the pages is looked at even if a
// single process is watched.
type Collector struct {
	stacks  stack.Stacks
	events  []aheadEvent
	added   pageFields // of the tracepoints that every kernel has
	deleted pageFields

	under  map[uint32]*reading   // readahead under way, by thread
	faults map[uint32]pages.Page // where a thread has a page fault
	reads  lastReads
	cache  pages.Owners[*aheadRow] // pages that were read ahead and not used
	rows   map[table.Row]*aheadRow
	close  func() error // of probes; nil if there are none
}

// aheadEvent is an event that is sampled, and what its samples tell.
type aheadEvent struct {
	perfevent.Event
	begins   bool // readahead: it has the stack
	everyone bool // whoever makes it happen
	fold     func(*table.Rows, *perfevent.Sample)
}

// reading is readahead that a thread has begun.
type reading struct {
	row         *aheadRow
	first, last pages.Page // of the range; they are of one file
	anywhere    bool       // the range is not known, the end of the readahead is
	depth       int        // of functions that have not returned, where returns are seen
	pc, sp      uint64     // of the thread's entry to the kernel
}

// aheadRow is what one stack had the kernel read ahead.
type aheadRow struct {
	row          table.Row
	unused, used uint64
}

// The columns.
const (
	unusedPages = iota
	usedPages
)

var _ table.Stateful = (*Collector)(nil)

// newReadahead makes a collector without events, but for the two that every kernel
// has: filemap:mm_filemap_add_to_page_cache and mm_filemap_delete_from_page_cache.
func newReadahead(added, deleted *ftrace.Format, stacks stack.Stacks) (*Collector, error) {
	c := &Collector{stacks: stacks,
		under: make(map[uint32]*reading), faults: make(map[uint32]pages.Page), reads: make(lastReads), cache: pages.New[*aheadRow](), rows: make(map[table.Row]*aheadRow)}
	if err := errors.Join(c.added.find(added), c.deleted.find(deleted)); err != nil {
		return nil, err
	}
	c.events = []aheadEvent{
		{Event: tracepoint(deleted), everyone: true, fold: func(_ *table.Rows, s *perfevent.Sample) {
			if first, n, ok := c.deleted.pages(s.Raw); ok {
				c.cache.Take(first, n, func(*aheadRow, uint64) {})
			}
		}},
		{Event: tracepoint(added), fold: func(_ *table.Rows, s *perfevent.Sample) {
			if first, n, ok := c.added.pages(s.Raw); ok {
				c.add(s, first, n)
			}
		}},
	}
	return c, nil
}

// tracepoint is the event of a format.
func tracepoint(format *ftrace.Format) perfevent.Event {
	return perfevent.Tracepoint(uint64(format.ID), format.System+":"+format.Name)
}

// Plan is the beginnings with their stacks, and what happens to pages without.
func (c *Collector) Plan() table.Plan {
	stacks := c.stacks.Copying(stack.RareCopy)
	p := table.Plan{
		Name: "readahead", Event: "readahead", Stacks: stacks, Ordered: true, Standing: true,
		Metrics: []profile.Metric{
			{Name: "UnusedReadaheadPages", Type: "unused", Unit: "pages", Scale: 1},
			{Name: "UsedReadaheadPages", Type: "used", Unit: "pages", Scale: 1},
		},
	}
	for _, event := range c.events {
		s := perfevent.Sampling{Event: event.Event, Period: 1, Raw: true, SystemWide: event.everyone}
		if !event.everyone {
			s.UserRegs = callchain.Host().EntryRegsMask()
		}
		if event.begins {
			stacks.Prepare(&s)
		}
		p.Samplings = append(p.Samplings, s)
	}
	return p
}

// Fallback knows no other way to see readahead.
func (c *Collector) Fallback(error) (note string, ok bool) { return "", false }

// Skip takes everything.
func (c *Collector) Skip(*perfevent.Sample) bool { return false }

// Fold follows the pages. What ringtap reads itself does not count as use.
func (c *Collector) Fold(rows *table.Rows, sampling int, s *perfevent.Sample) {
	const deletedEvent = 0
	if !rows.Own(s.PID) || sampling == deletedEvent {
		c.events[sampling].fold(rows, s)
	}
}

// over ends a thread's readahead, and its page fault.
func (c *Collector) over(tid uint32) {
	delete(c.under, tid)
	delete(c.faults, tid)
}

// use moves pages of a row from unused to used.
func use(row *aheadRow, n uint64) {
	row.unused -= n
	row.used += n
}

// add takes pages that a thread added to the page cache, if they are its readahead.
func (c *Collector) add(s *perfevent.Sample, first pages.Page, n uint64) {
	r := c.under[s.TID]
	switch {
	case r == nil:
		return
	case r.anywhere:
	case first.File != r.first.File || first.Index < r.first.Index || first.Index > r.last.Index:
		return
	}
	if pc, sp := entry(s); pc != r.pc || sp != r.sp {
		delete(c.under, s.TID) // it has been out of the kernel since
		return
	}
	r.row.unused += n
	c.cache.Add(first, n, r.row)
	if at, ok := c.faults[s.TID]; ok {
		c.cache.Take(at, 1, use)
	}
}

// entry tells one entry of a thread to the kernel from the next.
func entry(s *perfevent.Sample) (pc, sp uint64) {
	pc, sp, _, _ = callchain.Host().Frame(s.Regs.Mask, s.Regs.Values)
	return pc, sp
}

// row finds what is held for a row.
func (c *Collector) row(row table.Row) *aheadRow {
	r := c.rows[row]
	if r == nil {
		r = &aheadRow{row: row}
		c.rows[row] = r
	}
	return r
}

// Follow sees threads end.
func (c *Collector) Follow(_ *table.Rows, record perfevent.Record) {
	if r, ok := record.(*perfevent.Exit); ok {
		c.over(r.TID)
		delete(c.reads, r.TID)
	}
}

// End tells what stands.
func (c *Collector) End(rows *table.Rows, _ uint64) {
	for _, r := range c.rows {
		rows.Add(r.row, unusedPages, r.unused)
		rows.Add(r.row, usedPages, r.used)
		rows.Keep(r.row)
	}
}

// Forget forgets the pages, of which nobody knows what became meanwhile; what they
// were until then stays.
func (c *Collector) Forget(uint64) {
	clear(c.under)
	clear(c.faults)
	clear(c.reads)
	c.cache = pages.New[*aheadRow]()
}

// Bytes is what the pages and the rows take.
func (c *Collector) Bytes() int {
	const rowBytes = 160
	return c.cache.Bytes() + rowBytes*len(c.rows)
}
