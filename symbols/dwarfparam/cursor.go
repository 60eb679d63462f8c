package dwarfparam

import "encoding/binary"

// cursor reads the bytes of an expression. After the first failure all is zero.
type cursor struct {
	b      []byte
	failed bool
}

func (c *cursor) ok() bool { return !c.failed }

func (c *cursor) bytes(n uint64) []byte {
	if n > uint64(len(c.b)) {
		c.b, c.failed = nil, true
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *cursor) u8() byte {
	if b := c.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) uleb() uint64 {
	v, n := binary.Uvarint(c.b)
	c.bytes(uint64(max(n, 0)))
	c.failed = c.failed || n <= 0
	return v
}

func (c *cursor) sleb() int64 {
	var v int64
	for shift := uint(0); shift < 64; shift += 7 {
		b := c.u8()
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 && shift < 57 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	c.failed = true
	return 0
}
