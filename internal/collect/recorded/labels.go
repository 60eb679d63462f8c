package recorded

import (
	"strconv"

	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/perfevent"
)

// Label is something that a row has a label for, in addition to its process and stacks.
type Label int

// The labels of rows.
const (
	Comm   Label = iota // the thread's name at the time of the sample, as perf prints it
	Thread              // the thread's number, in decimal: see Collector.Threads
	CPU                 // the CPU's number, in decimal; -1 if the recording does not have it
)

// noCPU is the CPU of samples without one.
const noCPU = "-1"

// labelled returns the row with the collector's labels as its leaf.
func (c *Collector) labelled(rows *table.Rows, row table.Row, s *perfevent.Sample) table.Row {
	for _, label := range c.Labels {
		row = rows.With(row, c.label(rows, label, s))
	}
	return row
}

func (c *Collector) label(rows *table.Rows, label Label, s *perfevent.Sample) string {
	switch label {
	case Comm:
		return threadName(rows, s.TID)
	case Thread:
		if c.Threads == nil {
			c.Threads = make(map[uint32]string)
		}
		c.Threads[s.TID] = threadName(rows, s.TID)
		return strconv.Itoa(int(int32(s.TID)))
	}
	if !c.hasCPU() {
		return noCPU
	}
	return strconv.FormatUint(uint64(s.CPU), 10)
}

// threadName returns the name of a thread as perf prints it.
func threadName(rows *table.Rows, tid uint32) string {
	if tid == 0 {
		return "swapper"
	}
	if name := rows.ThreadName(tid); name != nil {
		return string(name)
	}
	return ":" + strconv.Itoa(int(int32(tid)))
}

// Follow remembers the name that a thread with samples gets.
func (c *Collector) Follow(rows *table.Rows, record perfevent.Record) {
	if c.leads() {
		c.Times.follow(rows, record)
	}
	if r, ok := record.(*perfevent.Comm); ok {
		if _, sampled := c.Threads[r.TID]; sampled {
			c.Threads[r.TID] = string(r.Name)
		}
	}
}

// End ends the threads' waits at the end of the recording.
func (c *Collector) End(_ *table.Rows, now uint64) {
	if c.leads() {
		c.Times.end(now)
	}
}

// Bytes returns the memory of the threads' names and of Times.
func (c *Collector) Bytes() int {
	bytes := len(c.Threads) * nameBytes
	if c.leads() {
		bytes += c.Times.bytes
	}
	return bytes
}

// nameBytes is what a thread takes in Collector.Threads.
const nameBytes = 64

// Index makes Times refer to the rows of the profile.
func (c *Collector) Index(index func(table.Row) int) {
	if c.leads() {
		c.Times.index(index)
	}
}

// Notes says what Times lacks.
func (c *Collector) Notes(bool) (notes, details []string) {
	if c.leads() {
		notes = c.Times.notes()
	}
	return notes, nil
}

// leads reports whether c is the collector that passes everything but samples to Times.
func (c *Collector) leads() bool { return c.Times != nil && c.Number == 0 }

// Forget does nothing: recordings have no alarms.
func (c *Collector) Forget(uint64) {}
