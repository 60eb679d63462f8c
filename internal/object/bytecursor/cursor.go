// Package bytecursor reads numbers and strings from untrusted bytes: the sections of ELF
// files and the expressions in them.
package bytecursor

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// ErrShort is a Cursor's error after a read beyond the end of its data.
var ErrShort = errors.New("unexpected end of data")

// errSize is a Cursor's error after a read of an integer with an unknown size.
var errSize = errors.New("integer of unknown size")

// Cursor reads bytes starting at an offset. After the first failure every read returns zero, no
// bytes are left, and Err stays set. So callers check only once, at the end of a record.
// Returned byte slices share the Cursor's data. The zero Cursor has no bytes. A copy of a
// Cursor reads independently.
type Cursor struct {
	data  []byte
	off   uint64
	order binary.ByteOrder
	err   error
}

// New returns a Cursor over data, starting at offset off. If off is beyond the end, the Cursor
// has failed.
func New(data []byte, off uint64, order binary.ByteOrder) Cursor {
	c := Cursor{data: data, off: off, order: order}
	if off > uint64(len(data)) {
		c.Fail(ErrShort)
	}
	return c
}

// Fail makes c fail. The first error is kept.
func (c *Cursor) Fail(err error) {
	if c.err == nil {
		c.err = err
	}
	c.off = uint64(len(c.data))
}

// Err returns the first error, or nil.
func (c *Cursor) Err() error { return c.err }

// Order returns the byte order of fixed-width numbers.
func (c *Cursor) Order() binary.ByteOrder { return c.order }

// Offset returns the offset of the next byte in the data.
func (c *Cursor) Offset() uint64 { return c.off }

// Left returns the number of bytes not read yet.
func (c *Cursor) Left() uint64 { return uint64(len(c.data)) - c.off }

// Rest returns the bytes not read yet.
func (c *Cursor) Rest() []byte { return c.data[c.off:] }

// Seek makes off the offset of the next byte, unless c has failed.
func (c *Cursor) Seek(off uint64) {
	switch {
	case off > uint64(len(c.data)):
		c.Fail(ErrShort)
	case c.err == nil:
		c.off = off
	}
}

// Limit drops everything after the next n bytes. It does nothing if fewer are left.
func (c *Cursor) Limit(n uint64) {
	if n < c.Left() {
		c.data = c.data[:c.off+n]
	}
}

// Skip steps over n bytes.
func (c *Cursor) Skip(n uint64) {
	if n > c.Left() {
		c.Fail(ErrShort)
		return
	}
	c.off += n
}

// Bytes returns the next n bytes, or nil if there are fewer.
func (c *Cursor) Bytes(n uint64) []byte {
	if n > c.Left() {
		c.Fail(ErrShort)
		return nil
	}
	b := c.data[c.off : c.off+n]
	c.off += n
	return b
}

// U8 reads a byte.
func (c *Cursor) U8() uint8 {
	if c.off >= uint64(len(c.data)) {
		c.Fail(ErrShort)
		return 0
	}
	v := c.data[c.off]
	c.off++
	return v
}

// U16 reads an unsigned integer of two bytes.
func (c *Cursor) U16() uint16 {
	if b := c.Bytes(2); b != nil {
		return c.order.Uint16(b)
	}
	return 0
}

// U32 reads an unsigned integer of four bytes.
func (c *Cursor) U32() uint32 {
	if b := c.Bytes(4); b != nil {
		return c.order.Uint32(b)
	}
	return 0
}

// U64 reads an unsigned integer of eight bytes.
func (c *Cursor) U64() uint64 {
	if b := c.Bytes(8); b != nil {
		return c.order.Uint64(b)
	}
	return 0
}

// Uint reads an unsigned integer of size bytes: 1, 2, 3, 4 or 8.
func (c *Cursor) Uint(size int) uint64 {
	switch size {
	case 1:
		return uint64(c.U8())
	case 2:
		return uint64(c.U16())
	case 3:
		b := c.Bytes(3)
		switch {
		case b == nil:
			return 0
		case c.order == binary.BigEndian:
			return uint64(b[0])<<16 | uint64(b[1])<<8 | uint64(b[2])
		}
		return uint64(b[2])<<16 | uint64(b[1])<<8 | uint64(b[0])
	case 4:
		return uint64(c.U32())
	case 8:
		return c.U64()
	}
	c.Fail(errSize)
	return 0
}

// ULEB reads an unsigned LEB128 number (DWARF 5, 7.6). Bits above the 64th are dropped.
func (c *Cursor) ULEB() uint64 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		if c.off >= uint64(len(c.data)) {
			c.Fail(ErrShort)
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

// SLEB reads a signed LEB128 number (DWARF 5, 7.6). Bits above the 64th are dropped.
func (c *Cursor) SLEB() int64 {
	var v uint64
	for shift := uint(0); ; {
		if c.off >= uint64(len(c.data)) {
			c.Fail(ErrShort)
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

// CString returns the bytes before the next NUL and steps over it.
func (c *Cursor) CString() []byte {
	n := bytes.IndexByte(c.data[c.off:], 0)
	if n < 0 {
		c.Fail(ErrShort)
		return nil
	}
	b := c.data[c.off : c.off+uint64(n)]
	c.off += uint64(n) + 1
	return b
}
