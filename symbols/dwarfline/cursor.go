package dwarfline

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// errShort is the error of a cursor that was asked for more than there is.
var errShort = errors.New("unexpected end of data")

// cursor reads one section from an offset on. After the first failure every
// read gives zero and err stays set, so that callers check once, at the end of
// a record.
type cursor struct {
	data  []byte
	off   uint64
	order binary.ByteOrder
	err   error
}

// at returns a cursor over data from offset off on; an offset beyond the end
// gives a cursor that has failed already.
func at(data []byte, off uint64, order binary.ByteOrder) cursor {
	c := cursor{data: data, off: off, order: order}
	if off > uint64(len(data)) {
		c.fail(errShort)
	}
	return c
}

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.off = uint64(len(c.data))
}

// left is the number of bytes not read yet.
func (c *cursor) left() uint64 { return uint64(len(c.data)) - c.off }

// bytes returns the next n bytes, which stay the section's.
func (c *cursor) bytes(n uint64) []byte {
	if n > c.left() {
		c.fail(errShort)
		return nil
	}
	b := c.data[c.off : c.off+n]
	c.off += n
	return b
}

func (c *cursor) skip(n uint64) {
	if n > c.left() {
		c.fail(errShort)
		return
	}
	c.off += n
}

func (c *cursor) u8() uint8 {
	if c.left() == 0 {
		c.fail(errShort)
		return 0
	}
	v := c.data[c.off]
	c.off++
	return v
}

func (c *cursor) u16() uint16 {
	if b := c.bytes(2); b != nil {
		return c.order.Uint16(b)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.bytes(4); b != nil {
		return c.order.Uint32(b)
	}
	return 0
}

// uint reads an unsigned integer of size bytes: 1, 2, 3, 4 or 8.
func (c *cursor) uint(size int) uint64 {
	switch size {
	case 1:
		return uint64(c.u8())
	case 2:
		return uint64(c.u16())
	case 3:
		b := c.bytes(3)
		switch {
		case b == nil:
			return 0
		case c.order == binary.BigEndian:
			return uint64(b[0])<<16 | uint64(b[1])<<8 | uint64(b[2])
		}
		return uint64(b[2])<<16 | uint64(b[1])<<8 | uint64(b[0])
	case 4:
		return uint64(c.u32())
	case 8:
		if b := c.bytes(8); b != nil {
			return c.order.Uint64(b)
		}
		return 0
	}
	c.fail(errors.New("integer of unknown size"))
	return 0
}

// uleb reads an unsigned LEB128 number (DWARF 5 section 7.6). Bits above the
// 64th are dropped.
func (c *cursor) uleb() uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		if c.off >= uint64(len(c.data)) {
			c.fail(errShort)
			return 0
		}
		b := c.data[c.off]
		c.off++
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
}

// sleb reads a signed LEB128 number.
func (c *cursor) sleb() int64 {
	var v uint64
	for shift := uint(0); ; {
		if c.off >= uint64(len(c.data)) {
			c.fail(errShort)
			return 0
		}
		b := c.data[c.off]
		c.off++
		v |= uint64(b&0x7f) << shift
		shift += 7
		if b < 0x80 {
			if b&0x40 != 0 && shift < 64 {
				v |= ^uint64(0) << shift
			}
			return int64(v)
		}
	}
}

// cstring returns the bytes before the next zero byte and steps over it.
func (c *cursor) cstring() []byte {
	n := bytes.IndexByte(c.data[c.off:], 0)
	if n < 0 {
		c.fail(errShort)
		return nil
	}
	b := c.data[c.off : c.off+uint64(n)]
	c.off += uint64(n) + 1
	return b
}

// unitLength reads an initial length (DWARF 5 section 7.4): the number of
// bytes that follow it and the size of offsets, 4 or 8.
func (c *cursor) unitLength() (length uint64, offsetSize int) {
	n := c.u32()
	switch {
	case n == 0xffffffff:
		return c.uint(8), 8
	case n >= 0xfffffff0:
		c.fail(errors.New("reserved unit length"))
		return 0, 4
	}
	return uint64(n), 4
}
