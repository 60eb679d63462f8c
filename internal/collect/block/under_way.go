package block

import (
	"github.com/ringtap/ringtap/internal/collect/pages"
	"github.com/ringtap/ringtap/internal/collect/table"
	"github.com/ringtap/ringtap/perfevent"
)

// Follow does nothing.
func (c *Collector) Follow(*table.Rows, perfevent.Record) {}

// End keeps the rows of everything that is queued or issued.
func (c *Collector) End(rows *table.Rows, _ uint64) {
	for row := range c.bios.All {
		rows.Keep(row)
	}
	for _, row := range c.flushes {
		rows.Keep(row)
	}
	ofRequest := func(r *request) {
		rows.Keep(r.first)
		for _, part := range r.parts {
			rows.Keep(part.row)
		}
	}
	for _, under := range c.requests {
		for _, r := range under {
			ofRequest(r)
		}
	}
	for _, waiting := range c.waiting {
		for _, r := range waiting {
			ofRequest(r)
		}
	}
	for _, bios := range c.again {
		for _, bio := range bios {
			rows.Keep(bio.row)
		}
	}
}

// Forget forgets everything in progress, because it may have ended meanwhile.
func (c *Collector) Forget(uint64) {
	c.bios = pages.New[table.Row]()
	clear(c.again)
	clear(c.flushes)
	clear(c.requests)
	clear(c.early)
	clear(c.waiting)
}

// Bytes returns the memory of bios and requests.
func (c *Collector) Bytes() int {
	const rowBytes, requestBytes = 64, 192
	return c.bios.Bytes() + rowBytes*c.bios.Runs() + requestBytes*len(c.requests)
}
