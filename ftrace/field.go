package ftrace

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/ringtap/ringtap/internal/text/cexpr"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// Location says where the bytes of a field's value are.
type Location uint8

const (
	Inline  Location = iota // at the field's offset
	DataLoc                 // __data_loc: the field holds the value's offset in the record and its length
	RelLoc                  // __rel_loc: the same, but the offset is relative to the end of the field
)

// Field is one field of an event's records. The kernel stores signed bit fields of probes as
// unsigned integers: see SignBits.
type Field struct {
	Name     string
	Type     string // as in C, without an array's brackets and without __data_loc: "char", "const char *"
	Offset   int    // in the record, in bytes
	Size     int    // bytes at Offset; for DataLoc and RelLoc 4, or 4 for each string of an array of strings
	Signed   bool   // whether the integer, or the elements of the array, are signed
	Common   bool   // one of the fields of every event, such as common_type
	Location Location
	Array    bool // false for masks such as cpumask_t, which are DataLoc without brackets
	Length   int  // number of elements of a fixed-size array, or of strings in an array of strings, else 0
	ElemSize int  // bytes of an array element; equal to Size if it is no array
	// SignBits is the width of a signed bit field, else 0. The record has only these bits; the
	// reader must extend the sign.
	SignBits int
	// LengthSize is the size of the integer at LengthOffset that has the length of the text. It
	// is 0 if the text ends at its first NUL byte.
	LengthOffset, LengthSize int
	String                   bool // text, which ends at the first NUL byte or at the end of the field
}

// Uint returns the integer or pointer in the field, zero-extended. It returns false if the
// field is of another kind or the record is too short.
func (f *Field) Uint(raw []byte) (uint64, bool) {
	if f.Array || f.Location != Inline {
		return 0, false
	}
	b, ok := f.Stored(raw)
	if !ok {
		return 0, false
	}
	return f.Load(b)
}

// Load decodes the integer in b, which are the field's bytes as returned by Stored.
func (f *Field) Load(b []byte) (uint64, bool) {
	v, ok := cexpr.Load(b, f.Size)
	if unused := 64 - f.SignBits; ok && f.SignBits > 0 && unused > 0 {
		v = uint64(int64(v<<unused)>>unused) & (^uint64(0) >> (64 - 8*f.Size))
	}
	return v, ok
}

// Int is like Uint, but sign-extends if the field is signed.
func (f *Field) Int(raw []byte) (int64, bool) {
	v, ok := f.Uint(raw)
	if f.Signed {
		v = cexpr.Type{Size: f.Size, Signed: true}.Convert(v)
	}
	return int64(v), ok
}

// Bytes returns the bytes of the field: of a string, the bytes before the first NUL; of an
// array of strings, the first string. It returns false if the record is too short. The bytes
// belong to raw.
func (f *Field) Bytes(raw []byte) ([]byte, bool) {
	b, ok := f.Data(raw, 0)
	if ok && f.String {
		b, _, _ = bytes.Cut(b, []byte{0})
	}
	return b, ok
}

// Text returns the field's value in readable form: a string escaped, integers in decimal,
// pointers in hexadecimal, arrays as {1,2,3}, anything else as bytes in hexadecimal. It returns
// "" if the record is too short.
func (f *Field) Text(raw []byte) string { return string(f.AppendText(nil, raw)) }

// AppendText appends the result of Text to dst.
func (f *Field) AppendText(dst, raw []byte) []byte {
	b, ok := f.Bytes(raw)
	switch {
	case !ok:
		return dst
	case f.String && f.Location != Inline && f.Length > 0:
		return f.appendStrings(dst, raw)
	case f.String:
		return escape.Append(dst, b)
	case !f.Array && f.Location == Inline:
		if v, ok := f.Load(b); ok {
			return f.appendNumber(dst, v)
		}
	case f.Array && f.ElemSize > 0:
		if _, ok := cexpr.Load(make([]byte, 8), f.ElemSize); ok {
			return f.appendArray(dst, b)
		}
	}
	return hex.AppendEncode(dst, b)
}

func (f *Field) appendNumber(dst []byte, v uint64) []byte {
	switch {
	case isPointer(f.Type):
		return strconv.AppendUint(append(dst, "0x"...), v, 16)
	case f.Signed:
		return strconv.AppendInt(dst, int64(cexpr.Type{Size: f.ElemSize, Signed: true}.Convert(v)), 10)
	}
	return strconv.AppendUint(dst, v, 10)
}

func (f *Field) appendArray(dst, b []byte) []byte {
	dst = append(dst, '{')
	for i := 0; i+f.ElemSize <= len(b); i += f.ElemSize {
		if i > 0 {
			dst = append(dst, ',')
		}
		v, _ := cexpr.Load(b[i:], f.ElemSize)
		dst = f.appendNumber(dst, v)
	}
	return append(dst, '}')
}

func (f *Field) appendStrings(dst, raw []byte) []byte {
	dst = append(dst, '{')
	for i := range f.Length {
		if i > 0 {
			dst = append(dst, ',')
		}
		b, _ := f.Data(raw, i)
		b, _, _ = bytes.Cut(b, []byte{0})
		dst = append(dst, '"')
		dst = escape.Append(dst, b)
		dst = append(dst, '"')
	}
	return append(dst, '}')
}

// Stored returns the bytes at the field's offset. For a DataLoc or RelLoc, these are the
// position of the value. For an array without a length, they extend to the end of the record.
// It returns false if the record is too short. The bytes belong to raw.
func (f *Field) Stored(raw []byte) ([]byte, bool) {
	if f.Offset < 0 || f.Size < 0 || f.Offset > len(raw) || f.Size > len(raw)-f.Offset {
		return nil, false
	}
	if f.Array && f.Size == 0 {
		return raw[f.Offset:], true
	}
	return raw[f.Offset : f.Offset+f.Size], true
}

// Data returns the bytes of the field's value, wherever it is. In an array of strings, index
// selects the string. It returns false if the record is too short. The bytes belong to raw.
func (f *Field) Data(raw []byte, index int) ([]byte, bool) {
	b, ok := f.Stored(raw)
	if !ok || f.Location == Inline {
		return b, ok
	}
	offset, length, ok := f.locate(b, index)
	if !ok || offset > len(raw) || length > len(raw)-offset {
		return nil, false
	}
	return f.limited(raw, raw[offset:offset+length]), true
}

// limited cuts a text to its length from the record. Zero bytes would mean that the text could
// not be read, so an empty text is returned as one NUL byte.
func (f *Field) limited(raw, text []byte) []byte {
	switch n, ok := f.TextLength(raw); {
	case !ok || n >= uint64(len(text)) && n > 0:
		return text
	case n == 0:
		return []byte{0}
	default:
		return text[:n:n]
	}
}

// TextLength returns the length, in bytes, of a text that does not end with a NUL byte. It
// returns false for other fields.
func (f *Field) TextLength(raw []byte) (uint64, bool) {
	if f.LengthSize == 0 || f.LengthOffset < 0 || f.LengthOffset > len(raw) {
		return 0, false
	}
	return cexpr.Load(raw[f.LengthOffset:], f.LengthSize)
}

// locate decodes a __data_loc or __rel_loc word: the length is in the upper half, the offset in
// the lower half (include/trace/stages/stage2_data_offsets.h).
func (f *Field) locate(b []byte, index int) (offset, length int, ok bool) {
	if index < 0 || index >= len(b)/4 {
		return 0, 0, false
	}
	word := binary.LittleEndian.Uint32(b[4*index:])
	offset, length = int(word&0xffff), int(word>>16)
	if f.Location == RelLoc {
		offset += f.Offset + 4*index + 4
	}
	return offset, length, true
}
