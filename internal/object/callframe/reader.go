package callframe

import (
	"encoding/binary"
	"errors"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

// errEncoding is a reader's error at a pointer with an unknown encoding.
var errEncoding = errors.New("unknown pointer encoding")

// reader reads call frame information: numbers, and pointers in their encodings.
type reader struct {
	bytecursor.Cursor
	word int // size of an address in bytes
}

// newReader returns a reader of data. Addresses have word bytes.
func newReader(data []byte, order binary.ByteOrder, word int) reader {
	return reader{Cursor: bytecursor.New(data, 0, order), word: word}
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

// pointer reads a pointer in the encoding enc. addr is the virtual address of the data's first
// byte, the base of pc-relative pointers. data is the base of data-relative pointers; only
// .eh_frame_hdr uses these, and passes its own address. They are an error if data is zero. So
// are text-relative pointers.
func (r *reader) pointer(enc uint8, addr, data uint64) uint64 {
	if enc == encOmit {
		return 0
	}
	var base uint64
	switch enc & 0x70 {
	case encAbsolute:
	case encPCRel:
		base = addr + r.Offset()
	case encDataRel:
		base = data
		if data == 0 {
			r.Fail(errEncoding)
		}
	case encAligned:
		for (addr+r.Offset())%uint64(r.word) != 0 && r.Err() == nil {
			r.Uint(1)
		}
		return r.Uint(r.word)
	default:
		r.Fail(errEncoding)
		return 0
	}
	return r.address(base + r.number(enc))
}

// number reads the value part of an encoded pointer.
func (r *reader) number(enc uint8) uint64 {
	switch enc & 0x0f {
	case encAbsolute:
		return r.Uint(r.word)
	case encULEB:
		return r.ULEB()
	case encUdata2:
		return r.Uint(2)
	case encUdata4:
		return r.Uint(4)
	case encUdata8, encSdata8:
		return r.Uint(8)
	case encSLEB:
		return uint64(r.SLEB())
	case encSdata2:
		return uint64(int64(int16(r.Uint(2))))
	case encSdata4:
		return uint64(int64(int32(r.Uint(4))))
	}
	r.Fail(errEncoding)
	return 0
}

// address truncates v to the size of an address in the file's class.
func (r *reader) address(v uint64) uint64 {
	if r.word == 4 {
		return uint64(uint32(v))
	}
	return v
}
