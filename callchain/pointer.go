package callchain

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

// pointer takes a pointer in the given encoding. at is the virtual address of
// the first byte of r.data, which pc-relative pointers count from. Text and
// data relative pointers are not in use on amd64 and arm64 outside
// .eh_frame_hdr, which passes its own address as data; they are bad here when
// data is zero.
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
		for (at+uint64(r.off))%8 != 0 && !r.bad {
			r.u8()
		}
		return r.u64()
	default:
		r.bad = true
		return 0
	}
	return base + r.number(enc)
}

// number takes the value part of an encoded pointer.
func (r *reader) number(enc uint8) uint64 {
	switch enc & 0x0f {
	case encAbsolute, encUdata8, encSdata8:
		return r.u64()
	case encULEB:
		return r.uleb()
	case encUdata2:
		return uint64(r.u16())
	case encUdata4:
		return uint64(r.u32())
	case encSLEB:
		return uint64(r.sleb())
	case encSdata2:
		return uint64(int64(int16(r.u16())))
	case encSdata4:
		return uint64(int64(int32(r.u32())))
	}
	r.bad = true
	return 0
}
