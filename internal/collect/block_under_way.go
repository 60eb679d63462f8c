package collect

import "github.com/ringtap/ringtap/perfevent"

// Follow needs no records.
func (c *Block) Follow(*Rows, perfevent.Record) {}

// End keeps the rows of what is queued or issued.
func (c *Block) End(rows *Rows, _ uint64) {
	for _, runs := range c.bios.parts {
		for i := range *runs {
			rows.Keep((*runs)[i].owner)
		}
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

// Forget forgets what is under way: it may be over where records go on.
func (c *Block) Forget(uint64) {
	c.bios = newRanges[Row]()
	clear(c.again)
	clear(c.flushes)
	clear(c.requests)
	clear(c.waiting)
}

// Bytes is what bios and requests take.
func (c *Block) Bytes() int {
	const rowBytes, requestBytes = 64, 192
	return c.bios.bytes() + rowBytes*c.bios.runs + requestBytes*len(c.requests)
}
