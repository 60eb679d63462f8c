package callchain

import "encoding/binary"

// reader takes little-endian values from untrusted bytes. A read past the end
// sets bad and returns zero, so that a parser checks once per record instead
// of once per field.
type reader struct {
	data []byte
	off  int
	bad  bool
}

// left is the number of bytes not read yet.
func (r *reader) left() int { return len(r.data) - r.off }

// bytes takes the next n bytes without copying them.
func (r *reader) bytes(n uint64) []byte {
	if r.bad || n > uint64(r.left()) {
		r.bad = true
		return nil
	}
	b := r.data[r.off : r.off+int(n)]
	r.off += int(n)
	return b
}

func (r *reader) u8() uint8 {
	if r.bad || r.off >= len(r.data) {
		r.bad = true
		return 0
	}
	b := r.data[r.off]
	r.off++
	return b
}

func (r *reader) u16() uint16 {
	if b := r.bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.bytes(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// word takes an address of so many bytes, 8 or 4.
func (r *reader) word(size uint8) uint64 {
	if size == 4 {
		return uint64(r.u32())
	}
	return r.u64()
}

// uleb takes an unsigned LEB128 number (DWARF 5, 7.6). Bits above the 64th are
// dropped; a number longer than ten bytes is bad.
func (r *reader) uleb() uint64 {
	var v uint64
	for shift := uint(0); shift < 70; shift += 7 {
		b := r.u8()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	r.bad = true
	return 0
}

// sleb takes a signed LEB128 number, with the bounds of uleb.
func (r *reader) sleb() int64 {
	var v int64
	for shift := uint(0); shift < 70; shift += 7 {
		b := r.u8()
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 && shift+7 < 64 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	r.bad = true
	return 0
}
