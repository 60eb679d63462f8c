package types

// Integer returns the integer type with this size in bytes. If C has no integer of that size, it
// returns the one with 8 bytes.
func Integer(size int, signed bool) *Type {
	switch {
	case size == 1 && signed:
		return Int8
	case size == 1:
		return Uint8
	case size == 2 && signed:
		return Int16
	case size == 2:
		return Uint16
	case size == 4 && signed:
		return Int32
	case size == 4:
		return Uint32
	case signed:
		return Int64
	}
	return Uint64
}

// Opaque returns the type of a value that programs cannot compute with, as an array of its bytes.
func Opaque(size int) *Type { return &Type{Kind: Array, Size: size, Elem: Uint8, Len: size} }

// SetBits makes f a bit field that starts at bit of its struct. Offset becomes the offset of the
// unit of f's type that holds the field. If the field spans two units, it is the offset of the
// field's first byte.
func (f *Field) SetBits(bit, width int) {
	f.Offset, f.BitOffset, f.Bits = bit/8, bit%8, width
	if unit := 8 * f.Type.Size; unit > 0 && bit/unit == (bit+width-1)/unit {
		f.Offset, f.BitOffset = bit/unit*f.Type.Size, bit%unit
	}
}

// maxMembers bounds the search through anonymous members. Nesting can make them far more numerous
// than bytes.
const maxMembers = 1 << 14

// Member returns a member of a struct or union, or of an anonymous struct within it. Its offset is
// from the start of t.
func (t *Type) Member(name string) (Field, bool) {
	budget := maxMembers
	return t.member(name, &budget)
}

func (t *Type) member(name string, budget *int) (Field, bool) {
	for _, f := range t.Fields {
		if *budget--; *budget < 0 {
			break
		}
		if f.Name == name {
			return f, true
		}
		if f.Name == "" && f.Type.Kind == Struct {
			if inner, ok := f.Type.member(name, budget); ok {
				inner.Offset += f.Offset
				return inner, true
			}
		}
	}
	return Field{}, false
}
