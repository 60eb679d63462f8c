package callframe

import "encoding/binary"

// reader takes values from untrusted bytes. A read past the end sets bad and
// returns zero, so that a parser checks once per record instead of once per field.
type reader struct {
	data  []byte
	off   int
	order binary.ByteOrder
	word  int // size of an address in bytes
	bad   bool
}

// bytes takes the next n bytes without copying them.
func (r *reader) bytes(n uint64) []byte {
	if r.bad || n > uint64(len(r.data)-r.off) {
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

// unsigned takes a number of size bytes: 1, 2, 4 or 8.
func (r *reader) unsigned(size int) uint64 {
	b := r.bytes(uint64(size))
	if b == nil {
		return 0
	}
	switch size {
	case 1:
		return uint64(b[0])
	case 2:
		return uint64(r.order.Uint16(b))
	case 4:
		return uint64(r.order.Uint32(b))
	}
	return r.order.Uint64(b)
}

// leb takes the bits of a LEB128 number of up to ten bytes (DWARF 5, 7.6), and
// how many bits there are. Bits above the 64th are dropped.
func (r *reader) leb() (v uint64, bits uint) {
	for shift := uint(0); shift < 70; shift += 7 {
		b := r.u8()
		v |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return v, shift + 7
		}
	}
	r.bad = true
	return 0, 64
}

func (r *reader) uleb() uint64 {
	v, _ := r.leb()
	return v
}

func (r *reader) sleb() int64 {
	v, bits := r.leb()
	if bits < 64 && v>>(bits-1) != 0 {
		v |= ^uint64(0) << bits
	}
	return int64(v)
}

// text takes a NUL-terminated string.
func (r *reader) text() []byte {
	for i := r.off; i < len(r.data); i++ {
		if r.data[i] == 0 {
			s := r.data[r.off:i]
			r.off = i + 1
			return s
		}
	}
	r.bad = true
	return nil
}

// Pointer encodings of .eh_frame and .eh_frame_hdr (Linux Standard Base,
// "DWARF Exception Header Encoding").
const (
	encAbsolute = 0x00
	encULEB     = 0x01
	encUdata2   = 0x02
	encUdata4   = 0x03
	encUdata8   = 0x04
	encSLEB     = 0x09
	encSdata2   = 0x0a
	encSdata4   = 0x0b
	encSdata8   = 0x0c

	encPCRel   = 0x10
	encDataRel = 0x30
	encAligned = 0x50
	encOmit    = 0xff
)

// pointer takes a pointer in the given encoding. at is the virtual address of the
// first byte of r.data, which pc-relative pointers count from. Text and data
// relative pointers are not in use outside of .eh_frame_hdr, which passes its own
// address as data; they are bad here when data is zero.
func (r *reader) pointer(enc uint8, at, data uint64) uint64 {
	if enc == encOmit {
		return 0
	}
	var base uint64
	switch enc & 0x70 {
	case encAbsolute:
	case encPCRel:
		base = at + uint64(r.off)
	case encDataRel:
		base = data
		r.bad = r.bad || data == 0
	case encAligned:
		for (at+uint64(r.off))%uint64(r.word) != 0 && !r.bad {
			r.unsigned(1)
		}
		return r.unsigned(r.word)
	default:
		r.bad = true
		return 0
	}
	return r.address(base + r.number(enc))
}

// number takes the value part of an encoded pointer.
func (r *reader) number(enc uint8) uint64 {
	switch enc & 0x0f {
	case encAbsolute:
		return r.unsigned(r.word)
	case encULEB:
		return r.uleb()
	case encUdata2:
		return r.unsigned(2)
	case encUdata4:
		return r.unsigned(4)
	case encUdata8, encSdata8:
		return r.unsigned(8)
	case encSLEB:
		return uint64(r.sleb())
	case encSdata2:
		return uint64(int64(int16(r.unsigned(2))))
	case encSdata4:
		return uint64(int64(int32(r.unsigned(4))))
	}
	r.bad = true
	return 0
}

// address cuts a sum to what an address of the file's class holds.
func (r *reader) address(v uint64) uint64 {
	if r.word == 4 {
		return uint64(uint32(v))
	}
	return v
}
