package live

import (
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/script/eval"
	"github.com/ringtap/ringtap/internal/script/value"
)

// carried keeps texts that the record of a hit has, for the hits that ask for them by their
// address. The older half goes when there are too many.
type carried struct {
	recent, older map[address]string
	bytes         int // of recent
}

// address is one in the memory of a process.
type address struct {
	pid  uint32
	addr uint64
}

// maxCarried bounds each half, in bytes.
const maxCarried = 16 << 20

// keep keeps a text.
func (c *carried) keep(at address, text string) {
	if c.bytes >= maxCarried || c.recent == nil {
		c.recent, c.older, c.bytes = make(map[address]string), c.recent, 0
	}
	c.recent[at] = text
	c.bytes += len(text) + 64 // which is about what an element takes
}

// find returns a text that was kept.
func (c *carried) find(at address) (string, bool) {
	text, ok := c.recent[at]
	if !ok {
		text, ok = c.older[at]
	}
	return text, ok
}

// carrying returns what takes an address from a hit, and keeps the text that it leads to.
func carrying(get getter, text *ftrace.Field) getter {
	return func(h *hit) value.Value {
		v := get(h)
		b, ok := text.Bytes(h.raw)
		if ok && v.N != 0 && len(b) > 0 && string(b) != unreadable {
			h.feed.carried.keep(address{h.sample.PID, v.N}, strings.Clone(string(b)))
		}
		return v
	}
}

// Text returns the text at an address of the process of a hit, as it was when another hit took
// the address.
func (a *Attachment) Text(h *eval.Hit, addr uint64) (string, bool) {
	return a.carried.find(address{h.PID, addr})
}
