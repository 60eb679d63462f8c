package framerule

import "encoding/binary"

// cursor reads the bytes of an entry. After the first failure all is zero.
type cursor struct {
	section Section
	b       []byte // of the section up to the entry's end
	at      int
	failed  bool
}

func (c *cursor) bytes(n int) []byte {
	if n < 0 || n > len(c.b)-c.at {
		c.at, c.failed = len(c.b), true
		return nil
	}
	c.at += n
	return c.b[c.at-n : c.at]
}

func (c *cursor) u8() byte {
	if b := c.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if b := c.bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 {
	if b := c.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (c *cursor) uleb() uint64 {
	v, n := binary.Uvarint(c.b[c.at:])
	if n <= 0 {
		n = -1
	}
	c.bytes(n)
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

func (c *cursor) text() string {
	start := c.at
	for c.u8() != 0 && !c.failed {
	}
	if c.failed {
		return ""
	}
	return string(c.b[start : c.at-1])
}

// pointer reads an address in one of the encodings of .eh_frame (DW_EH_PE_ of the Linux
// Standard Base); those that lead through memory fail.
func (c *cursor) pointer(encoding byte) uint64 {
	base := uint64(0)
	switch encoding & 0xf0 {
	case 0x00:
	case 0x10, 0x90: // DW_EH_PE_pcrel; DW_EH_PE_indirect is that of a personality's, which is passed over
		base = c.section.Addr + uint64(c.at)
	default:
		c.failed = true
	}
	switch encoding & 0x0f {
	case 0x00, 0x04, 0x0c: // DW_EH_PE_absptr, udata8, sdata8
		return base + c.u64()
	case 0x02:
		return base + uint64(c.u16())
	case 0x03:
		return base + uint64(c.u32())
	case 0x0a:
		return base + uint64(int64(int16(c.u16())))
	case 0x0b:
		return base + uint64(int64(int32(c.u32())))
	}
	c.failed = true
	return 0
}
