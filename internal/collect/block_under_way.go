package collect

// Kept are the rows of what is queued or issued, each once.
func (c *Block) Kept(yield func(*Row)) {
	seen := make(map[*blockRow]bool)
	once := func(row *blockRow) {
		if !seen[row] {
			seen[row] = true
			yield(&row.row)
		}
	}
	for _, runs := range c.bios.parts {
		for i := range *runs {
			once((*runs)[i].owner)
		}
	}
	for _, row := range c.flushes {
		once(row)
	}
	ofRequest := func(r *request) {
		once(r.first)
		for _, part := range r.parts {
			once(part.row)
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
			once(bio.row)
		}
	}
}

// Forget forgets what is under way: it may be over where records go on.
func (c *Block) Forget(uint64) {
	c.bios = newRanges[*blockRow]()
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
