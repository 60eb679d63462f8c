// Package block is the collector of requests to block devices.
package block

import (
	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/collect/pages"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/internal/profile"
	"github.com/ringtap/ringtap/internal/stack"
	"github.com/ringtap/ringtap/perfevent"
)

// Collector is the block collector: what block devices were asked to do, by stack, device and kind
// of request. It counts bytes, requests, and the time from a request's issue to its completion.
//
// The stack is the one of the thread that queued the bio. Requests are issued by arbitrary threads
// and completed in interrupts, so that their stacks mean nothing. A request consists of merged or
// split bios. Its bytes count for the stacks of these bios. The request itself and its time count
// for the first bio's stack. Completions are seen on the whole system, even if only one process is
// watched.
type Collector struct {
	formats Formats
	whole   bool
	stacks  stack.Stacks
	devices *devices

	queued, issued, completed blockFields

	bios     pages.Owners[table.Row]   // queued and not issued yet
	flushes  map[uint64]table.Row      // row of the last bio that asked to flush the device's cache, by device
	again    map[pages.Page][]share    // bios for sectors that another queued bio has too, by first sector
	requests map[pages.Page][]*request // issued and not completed, by first sector, oldest first
	waiting  map[uint64][]*request     // issued flushes, by device, because they have no sectors
	early    map[pages.Page]early      // sectors issued before ringtap saw their bio, unless they count for the issuer
}

// Formats are the tracepoints that the collector reads. Their system is block.
type Formats struct {
	queued, issued, completed *ftrace.Format // block_bio_queue, block_rq_issue, block_rq_complete
}

// request is a request that a device is working on.
type request struct {
	since uint64
	first table.Row
	parts []share // in sector order
	left  uint64  // sectors that have not been completed
}

// early is sectors whose issue was recorded before the bio that asks for them.
type early struct {
	time  uint64
	again *request // request that was taken to be issued a second time; nil if there is none
	since uint64   // its since before that
}

// share is a part of a request that counts for one row.
type share struct {
	row     table.Row
	sectors uint64
}

// sector is the unit of the tracepoints, in bytes, whatever the device uses.
const sector = 512

// clockSkew is how far the clocks of two CPUs may differ, in nanoseconds. If one CPU issues a
// request right after another has queued its bio, the issue may seem to come first.
const clockSkew = 100e3

// maxBios bounds the queued bios that are remembered. Bios of devices without requests, such as
// device mapper's, are never issued.
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
	if formats.queued, err = tracefs.Format("block", "block_bio_queue"); err != nil {
		return formats, err
	}
	if formats.issued, err = tracefs.Format("block", "block_rq_issue"); err != nil {
		return formats, err
	}
	formats.completed, err = tracefs.Format("block", "block_rq_complete")
	return formats, err
}

// New returns a block collector of a run that starts now. whole says that the whole system is
// watched. Then requests count even if nobody was seen to ask for them.
func New(formats Formats, whole bool, stacks stack.Stacks) (*Collector, error) {
	c := &Collector{formats: formats, whole: whole, stacks: stacks, devices: newDevices("/sys"),
		bios: pages.New[table.Row](), flushes: make(map[uint64]table.Row),
		again: make(map[pages.Page][]share), requests: make(map[pages.Page][]*request), waiting: make(map[uint64][]*request),
		early: make(map[pages.Page]early)}
	for _, err := range []error{c.queued.find(formats.queued), c.issued.find(formats.issued), c.completed.find(formats.completed)} {
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Plan returns the sampling of bios, which have stacks, and of requests, which have none.
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
	for i, format := range []*ftrace.Format{c.formats.queued, c.formats.issued, c.formats.completed} {
		s := perfevent.Sampling{Event: perfevent.Tracepoint(uint64(format.ID), format.System+":"+format.Name), Period: 1, Raw: true, SystemWide: i != blockQueued}
		if i == blockQueued {
			stacks.Prepare(&s)
		}
		p.Samplings = append(p.Samplings, s)
	}
	return p
}

// Fallback returns false: there is no other way to see requests.
func (c *Collector) Fallback(error) (note string, ok bool) { return "", false }

// Skip keeps every sample, because any thread may issue or complete a request.
func (c *Collector) Skip(*perfevent.Sample) bool { return false }

// Fold handles bios and requests.
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

// queue remembers who asks for sectors.
func (c *Collector) queue(rows *table.Rows, s *perfevent.Sample, op operation) {
	row := rows.With(rows.Of(s), c.label(op))
	if op.flush {
		c.flushes[op.device()] = rows.With(rows.Of(s), "["+c.devices.name(op.device())+" flush]")
	}
	if e, ok := c.early[op.at]; ok && s.Time <= e.time+clockSkew {
		delete(c.early, op.at)
		if e.again != nil {
			e.again.since = e.since
		}
		c.requests[op.at] = append(c.requests[op.at], &request{since: e.time, first: row, parts: []share{{row, op.sectors}}, left: op.sectors})
		return
	}
	if c.bios.Runs()+len(c.again) >= maxBios {
		c.bios = pages.New[table.Row]()
		clear(c.again)
	}
	if c.bios.Any(op.at, op.sectors) {
		c.again[op.at] = append(c.again[op.at], share{row, op.sectors})
		return
	}
	c.bios.Add(op.at, op.sectors, row)
}

func (c *Collector) label(op operation) string {
	return "[" + c.devices.name(op.device()) + " " + op.kind() + "]"
}

// issue starts a request.
func (c *Collector) issue(rows *table.Rows, s *perfevent.Sample, op operation) {
	r := &request{since: s.Time, left: op.sectors}
	known := uint64(0)
	c.bios.Take(op.at, op.sectors, func(row table.Row, n uint64) {
		r.parts = append(r.parts, share{row, n})
		known += n
	})
	if bios := c.again[op.at]; known < op.sectors && len(bios) > 0 {
		part := share{bios[0].row, min(bios[0].sectors, op.sectors-known)}
		r.parts = append(r.parts, part)
		known += part.sectors
		if c.again[op.at] = bios[1:]; len(bios) == 1 {
			delete(c.again, op.at)
		}
	}
	if known == 0 && op.sectors > 0 && c.unasked(op, s.Time) {
		return
	}
	if op.sectors == 0 {
		if row, ok := c.flushes[op.device()]; ok {
			r.parts = []share{{row, 0}}
		}
	}
	if c.whole && (known < op.sectors || len(r.parts) == 0) && !rows.Own(s.PID) {
		// It was queued before the run, or the kernel itself asked: a flush.
		r.parts = append(r.parts, share{rows.With(rows.Process(s.PID), c.label(op)), op.sectors - known})
	}
	if len(r.parts) == 0 {
		return
	}
	r.first = r.parts[0].row
	if op.sectors == 0 {
		c.waiting[op.device()] = append(c.waiting[op.device()], r)
		return
	}
	c.requests[op.at] = append(c.requests[op.at], r)
}

// unasked remembers sectors that are issued without a known bio: the bio's record may still come.
// It reports whether this looks like the second issue of a request that the device refused.
func (c *Collector) unasked(op operation, now uint64) (again bool) {
	e := early{time: now}
	if under := c.requests[op.at]; len(under) > 0 && under[0].left == op.sectors {
		e.again, e.since = under[0], under[0].since
		under[0].since = now
	}
	if c.whole && e.again == nil {
		return false // they count for the issuer
	}
	if len(c.early) >= maxBios {
		clear(c.early)
	}
	c.early[op.at] = e
	return e.again != nil
}

// complete ends a request or a part of it.
func (c *Collector) complete(rows *table.Rows, now uint64, op operation) {
	if op.sectors == 0 {
		if waiting := c.waiting[op.device()]; len(waiting) > 0 {
			c.end(rows, waiting[0], now)
			c.waiting[op.device()] = waiting[1:]
		}
		return
	}
	under := c.requests[op.at]
	if len(under) == 0 {
		delete(c.early, op.at)
		return
	}
	r := under[0]
	if c.requests[op.at] = under[1:]; len(under) == 1 {
		delete(c.requests, op.at)
	}
	done := min(op.sectors, r.left)
	r.left -= done
	for done > 0 && len(r.parts) > 0 {
		part := &r.parts[0]
		n := min(done, part.sectors)
		if !op.failed {
			rows.Add(part.row, blockSize, n*sector)
		}
		part.sectors -= n
		done -= n
		if part.sectors == 0 {
			r.parts = r.parts[1:]
		}
	}
	if r.left > 0 {
		op.at.Index += op.sectors
		c.requests[op.at] = append(c.requests[op.at], r)
		return
	}
	c.end(rows, r, now)
}

// end counts a request that is done.
func (c *Collector) end(rows *table.Rows, r *request, now uint64) {
	rows.Add(r.first, blockCount, 1)
	rows.Add(r.first, blockTime, now-min(r.since, now))
}
