// Package block is the collector of requests to block devices.
package block

import (
	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/questions/pages"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/internal/table"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector is the block collector: what disks and their like were asked to do, by the
// stack that asked, the device and the kind of request: bytes, requests, and the
// time from a request's issue to its completion.
//
// The stack is that of the thread which queued the bio, since requests are issued by
// whoever comes by, and completed by interrupts. A request is made of bios, merged
// or split: its bytes are those of its bios' stacks, the request itself and its time
// are of the first one. Its completion is seen wherever it comes, even if a single
// process is watched.
type Collector struct {
	formats Formats
	whole   bool
	stacks  stack.Stacks
	devices *devices

	queued, issued, completed blockFields

	bios     pages.Owners[table.Row]   // queued and not issued
	flushes  map[uint64]table.Row      // who asked last that a device's cache be written, by device
	again    map[pages.Page][]share    // the same, of sectors that another bio is about already
	requests map[pages.Page][]*request // issued and not completed, by their first sector, the oldest first
	waiting  map[uint64][]*request     // issued flushes, by device: they have no sectors
	early    map[pages.Page]early      // sectors that were issued and that nobody was seen to ask for, unless they count as the issuer's
}

// Formats are the tracepoints that the collector reads, of the system block.
type Formats struct {
	Queued, Issued, Completed *ftrace.Format // block_bio_queue, block_rq_issue, block_rq_complete
}

// request is a request that a device works on.
type request struct {
	since uint64
	first table.Row
	parts []share // in the order of the sectors
	left  uint64  // sectors that have not been completed
}

// early is sectors whose issue was recorded before anybody's request for them.
type early struct {
	time  uint64
	again *request // that seemed to be issued again, nil for none
	since uint64   // of that
}

// share is the sectors of a request that are of one row.
type share struct {
	row     table.Row
	sectors uint64
}

// sector is the unit of the tracepoints in bytes, whatever the device's is.
const sector = 512

// clockSkew is how far the clocks of two CPUs may be apart, in nanoseconds. A request that
// one CPU issues as soon as another has queued its bio may seem to come first.
const clockSkew = 100e3

// maxBios bounds the bios that are waited for. Those of devices without requests,
// such as the device mapper's, are never issued.
const maxBios = 1 << 16

// The columns.
const (
	blockSize = iota
	blockCount
	blockTime
)

// The samplings.
const (
	blockQueued = iota
	blockIssued
	blockCompleted
)

var _ table.Stateful = (*Collector)(nil)

// ReadFormats reads the tracepoints' formats.
func ReadFormats(tracefs *ftrace.FS) (formats Formats, err error) {
	if formats.Queued, err = tracefs.Format("block", "block_bio_queue"); err != nil {
		return formats, err
	}
	if formats.Issued, err = tracefs.Format("block", "block_rq_issue"); err != nil {
		return formats, err
	}
	formats.Completed, err = tracefs.Format("block", "block_rq_complete")
	return formats, err
}

// New makes a block collector of a run that begins now. Whole says that the
// whole system is watched: then requests count as well that nobody was seen to ask
// for.
func New(formats Formats, whole bool, stacks stack.Stacks) (*Collector, error) {
	c := &Collector{formats: formats, whole: whole, stacks: stacks, devices: newDevices("/sys"),
		bios: pages.New[table.Row](), flushes: make(map[uint64]table.Row),
		again: make(map[pages.Page][]share), requests: make(map[pages.Page][]*request), waiting: make(map[uint64][]*request),
		early: make(map[pages.Page]early)}
	for _, err := range []error{c.queued.find(formats.Queued), c.issued.find(formats.Issued), c.completed.find(formats.Completed)} {
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Plan is the bios with their stacks, and the requests without.
func (c *Collector) Plan() table.Plan {
	stacks := c.stacks.Copying(stack.RareCopy)
	p := table.Plan{
		Name: "io", Event: "block:block_bio_queue", Stacks: stacks, Ordered: true,
		Metrics: []profile.Metric{
			{Name: "BlockSize", Type: "block", Unit: "bytes", Scale: 1},
			{Name: "BlockCount", Type: "requests", Unit: "counts", Scale: 1},
			{Name: "BlockTime", Type: "block-time", Unit: "nanoseconds", Scale: 1},
		},
	}
	for i, format := range []*ftrace.Format{c.formats.Queued, c.formats.Issued, c.formats.Completed} {
		s := perfevent.Sampling{Event: perfevent.Tracepoint(uint64(format.ID), format.System+":"+format.Name), Period: 1, Raw: true, SystemWide: i != blockQueued}
		if i == blockQueued {
			stacks.Prepare(&s)
		}
		p.Samplings = append(p.Samplings, s)
	}
	return p
}

// Fallback knows no other way to see requests.
func (c *Collector) Fallback(error) (note string, ok bool) { return "", false }

// Skip takes everything: requests are issued and completed by whoever comes by.
func (c *Collector) Skip(*perfevent.Sample) bool { return false }

// Fold follows bios and requests.
func (c *Collector) Fold(rows *table.Rows, sampling int, s *perfevent.Sample) {
	switch sampling {
	case blockQueued:
		if what, ok := c.queued.read(s.Raw, c.devices); ok && !rows.Own(s.PID) {
			c.queue(rows, s, what)
		}
	case blockIssued:
		if what, ok := c.issued.read(s.Raw, c.devices); ok {
			c.issue(rows, s, what)
		}
	case blockCompleted:
		if what, ok := c.completed.read(s.Raw, c.devices); ok {
			c.complete(rows, s.Time, what)
		}
	}
}

// queue notes who asks for sectors.
func (c *Collector) queue(rows *table.Rows, s *perfevent.Sample, what operation) {
	row := rows.With(rows.Of(s), c.label(what))
	if what.flush {
		c.flushes[what.device()] = rows.With(rows.Of(s), "["+c.devices.name(what.device())+" flush]")
	}
	if e, ok := c.early[what.at]; ok && s.Time <= e.time+clockSkew {
		delete(c.early, what.at)
		if e.again != nil {
			e.again.since = e.since
		}
		c.requests[what.at] = append(c.requests[what.at], &request{since: e.time, first: row, parts: []share{{row, what.sectors}}, left: what.sectors})
		return
	}
	if c.bios.Runs()+len(c.again) >= maxBios {
		c.bios = pages.New[table.Row]()
		clear(c.again)
	}
	if c.bios.Any(what.at, what.sectors) {
		c.again[what.at] = append(c.again[what.at], share{row, what.sectors})
		return
	}
	c.bios.Add(what.at, what.sectors, row)
}

func (c *Collector) label(what operation) string {
	return "[" + c.devices.name(what.device()) + " " + what.kind() + "]"
}

// issue begins a request.
func (c *Collector) issue(rows *table.Rows, s *perfevent.Sample, what operation) {
	r := &request{since: s.Time, left: what.sectors}
	known := uint64(0)
	c.bios.Take(what.at, what.sectors, func(row table.Row, n uint64) {
		r.parts = append(r.parts, share{row, n})
		known += n
	})
	if bios := c.again[what.at]; known < what.sectors && len(bios) > 0 {
		part := share{bios[0].row, min(bios[0].sectors, what.sectors-known)}
		r.parts = append(r.parts, part)
		known += part.sectors
		if c.again[what.at] = bios[1:]; len(bios) == 1 {
			delete(c.again, what.at)
		}
	}
	if known == 0 && what.sectors > 0 && c.unasked(what, s.Time) {
		return
	}
	if what.sectors == 0 {
		if row, ok := c.flushes[what.device()]; ok {
			r.parts = []share{{row, 0}}
		}
	}
	if c.whole && (known < what.sectors || len(r.parts) == 0) && !rows.Own(s.PID) {
		// It was queued before the run, or by nobody: a flush of the kernel's.
		r.parts = append(r.parts, share{rows.With(rows.Process(s.PID), c.label(what)), what.sectors - known})
	}
	if len(r.parts) == 0 {
		return
	}
	r.first = r.parts[0].row
	if what.sectors == 0 {
		c.waiting[what.device()] = append(c.waiting[what.device()], r)
		return
	}
	c.requests[what.at] = append(c.requests[what.at], r)
}

// unasked notes sectors that are issued and that nobody was seen to ask for: the next record may tell who
// did. It tells whether they seem to be issued again, since the device had refused them.
func (c *Collector) unasked(what operation, now uint64) (again bool) {
	e := early{time: now}
	if under := c.requests[what.at]; len(under) > 0 && under[0].left == what.sectors {
		e.again, e.since = under[0], under[0].since
		under[0].since = now
	}
	if c.whole && e.again == nil {
		return false // they count as the issuer's
	}
	if len(c.early) >= maxBios {
		clear(c.early)
	}
	c.early[what.at] = e
	return e.again != nil
}

// complete ends a request, or a part of it.
func (c *Collector) complete(rows *table.Rows, now uint64, what operation) {
	if what.sectors == 0 {
		if waiting := c.waiting[what.device()]; len(waiting) > 0 {
			c.end(rows, waiting[0], now)
			c.waiting[what.device()] = waiting[1:]
		}
		return
	}
	under := c.requests[what.at]
	if len(under) == 0 {
		delete(c.early, what.at)
		return
	}
	r := under[0]
	if c.requests[what.at] = under[1:]; len(under) == 1 {
		delete(c.requests, what.at)
	}
	done := min(what.sectors, r.left)
	r.left -= done
	for done > 0 && len(r.parts) > 0 {
		part := &r.parts[0]
		n := min(done, part.sectors)
		if !what.failed {
			rows.Add(part.row, blockSize, n*sector)
		}
		part.sectors -= n
		done -= n
		if part.sectors == 0 {
			r.parts = r.parts[1:]
		}
	}
	if r.left > 0 {
		what.at.Index += what.sectors
		c.requests[what.at] = append(c.requests[what.at], r)
		return
	}
	c.end(rows, r, now)
}

// end books a request that is done.
func (c *Collector) end(rows *table.Rows, r *request, now uint64) {
	rows.Add(r.first, blockCount, 1)
	rows.Add(r.first, blockTime, now-min(r.since, now))
}
