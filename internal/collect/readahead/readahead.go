// Package readahead is the collector of the pages that the kernel reads ahead, used and unused.
package readahead

import (
	"errors"

	"github.com/ringtap/ringtap/callchain"
	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect/pages"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector is the readahead collector. It counts the pages that the kernel read ahead, by the
// stack that caused it, and how many of them were used. Both columns are about the whole run so
// far. A page moves from unused to used when something reads it. If it leaves the cache before
// that, it stays unused for good.
//
// The kernel announces a range of pages to read ahead. The pages that the thread then adds to the
// page cache count if they are in that range. Pages added after the thread has left the kernel do
// not count. The pages that the program asked for are among them. A page is used when a read asks
// for it or when it is mapped. What a program does with mapped memory later is not seen. Uses count
// no matter which process they come from, even if only one process is watched.
type Collector struct {
	stacks  stack.Stacks
	events  []aheadEvent
	added   pageFields // fields of the tracepoints that every kernel has
	deleted pageFields

	under  map[uint32]*reading   // readahead in progress, by thread
	faults map[uint32]pages.Page // page of the thread's current page fault
	reads  lastReads
	cache  pages.Owners[*aheadRow] // pages that were read ahead and not used yet
	rows   map[table.Row]*aheadRow
	close  func() error // closes the probes; nil if there are none
}

// aheadEvent is an event to sample, and the function that handles its samples.
type aheadEvent struct {
	perfevent.Event
	begins   bool // it starts a readahead, so that it has the stack
	everyone bool // for all processes of the system
	fold     func(*table.Rows, *perfevent.Sample)
}

// reading is a readahead in progress.
type reading struct {
	row         *aheadRow
	first, last pages.Page // of the range, in one file
	anywhere    bool       // the range is unknown, but the end of the readahead is seen
	depth       int        // number of calls that have not returned, if returns are seen
	pc, sp      uint64     // identify the thread's entry into the kernel: see entry
}

// aheadRow counts the pages that the kernel read ahead because of one stack.
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

// newReadahead makes a collector with the two events that every kernel has:
// filemap:mm_filemap_add_to_page_cache and mm_filemap_delete_from_page_cache.
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

// tracepoint returns the event of a format.
func tracepoint(format *ftrace.Format) perfevent.Event {
	return perfevent.Tracepoint(uint64(format.ID), format.System+":"+format.Name)
}

// Plan returns samplings of the starts of readahead, which have stacks, and of what happens to
// pages.
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

// Fallback returns false: there is no other way to see readahead.
func (c *Collector) Fallback(error) (note string, ok bool) { return "", false }

// Skip keeps every sample.
func (c *Collector) Skip(*perfevent.Sample) bool { return false }

// Fold handles a sample. ringtap's own reads do not count as use.
func (c *Collector) Fold(rows *table.Rows, sampling int, s *perfevent.Sample) {
	const deletedEvent = 0
	if !rows.Own(s.PID) || sampling == deletedEvent {
		c.events[sampling].fold(rows, s)
	}
}

// over ends a thread's readahead and its page fault.
func (c *Collector) over(tid uint32) {
	delete(c.under, tid)
	delete(c.faults, tid)
}

// use moves n pages of a row from unused to used.
func use(row *aheadRow, n uint64) {
	row.unused -= n
	row.used += n
}

// add counts pages that a thread added to the page cache, if they belong to its readahead.
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
		delete(c.under, s.TID) // the thread has left the kernel since
		return
	}
	r.row.unused += n
	c.cache.Add(first, n, r.row)
	if at, ok := c.faults[s.TID]; ok {
		c.cache.Take(at, 1, use)
	}
}

// entry returns values that differ between one entry of a thread into the kernel and the next.
func entry(s *perfevent.Sample) (pc, sp uint64) {
	pc, sp, _, _ = callchain.Host().Frame(s.Regs.Mask, s.Regs.Values)
	return pc, sp
}

// row returns the counts of a row.
func (c *Collector) row(row table.Row) *aheadRow {
	r := c.rows[row]
	if r == nil {
		r = &aheadRow{row: row}
		c.rows[row] = r
	}
	return r
}

// Follow handles the end of threads.
func (c *Collector) Follow(_ *table.Rows, record perfevent.Record) {
	if r, ok := record.(*perfevent.Exit); ok {
		c.over(r.TID)
		delete(c.reads, r.TID)
	}
}

// End adds the counts of the run so far.
func (c *Collector) End(rows *table.Rows, _ uint64) {
	for _, r := range c.rows {
		rows.Add(r.row, unusedPages, r.unused)
		rows.Add(r.row, usedPages, r.used)
		rows.Keep(r.row)
	}
}

// Forget forgets the pages, because nobody knows what happened to them. What was counted stays.
func (c *Collector) Forget(uint64) {
	clear(c.under)
	clear(c.faults)
	clear(c.reads)
	c.cache = pages.New[*aheadRow]()
}

// Bytes returns the memory of pages and rows.
func (c *Collector) Bytes() int {
	const rowBytes = 160
	return c.cache.Bytes() + rowBytes*len(c.rows)
}
