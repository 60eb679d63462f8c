package dwarfparam

import (
	"debug/dwarf"

	"github.com/ringtap/ringtap/symbols/dwarfline"
)

// Limits for types.
const (
	maxTypeDepth = 16   // nesting of types
	maxFields    = 1024 // of one type; values passed in registers have few
)

// class is the class of a type in calling conventions.
type class uint8

const (
	classUnknown class = iota
	classInteger       // also pointers; at most 16 bytes
	classFloat
	classLongDouble // amd64's 80 bits
	classVector
	classComplex
	classAggregate
)

// typ has the properties of a type that decide how its values are passed.
type typ struct {
	kind        Kind
	class       class
	size, align uint64
	fields      []field // of an aggregate
	elem        *typ    // of an array, a vector or a complex number
	count       uint64  // number of elements of an array
	union       bool
	byReference bool // a C++ class with non-trivial copies
	variants    bool // has fields that only some values have
	char        bool // is named char
	name        string
	goKind      uint64
}

type field struct {
	name   string
	text   string
	typ    *typ
	offset uint64
	bits   bool // is a bit field
}

var unknownType = &typ{}

// Attributes and encodings that debug/dwarf does not name.
const (
	attrGoKind    dwarf.Attr = 0x2900 // DW_AT_go_kind
	attrGNUVector dwarf.Attr = 0x2107

	encAddress      = 0x01
	encBoolean      = 0x02
	encComplexFloat = 0x03
	encFloat        = 0x04
	encSigned       = 0x05
	encSignedChar   = 0x06
	encUnsigned     = 0x07
	encUnsignedChar = 0x08
	encDecimalFloat = 0x0f
	encUTF          = 0x10
)

// resolve returns the type of an entry. Types that contain themselves, which only damaged files
// have, end at maxTypeDepth.
func (r *reader) resolve(e dwarfline.DIE, depth int) *typ {
	e = complete(e)
	if t, ok := r.types[e.Offset]; ok {
		return t
	}
	if depth > maxTypeDepth || len(r.types) > maxFields*maxTypeDepth {
		return unknownType
	}
	r.types[e.Offset] = unknownType
	t := r.decode(e, depth)
	r.types[e.Offset] = t
	return t
}

// complete returns the entry of the full type if e only refers to a type in a type unit, else
// e.
func complete(e dwarfline.DIE) dwarfline.DIE {
	if full, ok := e.Ref(dwarf.AttrSignature); ok {
		return full
	}
	return e
}

func (r *reader) decode(e dwarfline.DIE, depth int) *typ {
	size, _ := e.Uint(dwarf.AttrByteSize)
	t := &typ{size: size, name: e.Text(dwarf.AttrName)}
	t.goKind, _ = e.Uint(attrGoKind)
	switch e.Tag {
	case dwarf.TagBaseType:
		r.base(t, e)
	case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		t.kind, t.class, t.size = Pointer, classInteger, uint64(e.AddrSize())
		if to, ok := e.Ref(dwarf.AttrType); ok && e.Tag == dwarf.TagPointerType && r.isChar(to) {
			t.kind = CString
		}
	case dwarf.TagPtrToMemberType:
		t.kind, t.class, t.size = Pointer, classInteger, uint64(e.AddrSize())
		if to, ok := e.Ref(dwarf.AttrType); ok && to.Tag == dwarf.TagSubroutineType {
			t.size *= 2 // plus the adjustment of "this"
			t.kind = Struct
		}
	case dwarf.TagEnumerationType:
		t.kind, t.class = Enum, classInteger
		if under, ok := e.Ref(dwarf.AttrType); ok && t.size == 0 {
			t.size = r.resolve(under, depth+1).size
		}
	case dwarf.TagUnspecifiedType: // decltype(nullptr)
		t.kind, t.class, t.size = Pointer, classInteger, uint64(e.AddrSize())
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		r.aggregate(t, e, depth)
	case dwarf.TagArrayType:
		r.array(t, e, depth)
	case dwarf.TagSubroutineType:
		if r.lang != langGo {
			return unknownType
		}
		t.kind, t.class, t.size = Pointer, classInteger, uint64(e.AddrSize()) // a func value
	default:
		under, ok := e.Ref(dwarf.AttrType)
		if !ok || !isAlias(e.Tag) {
			return unknownType
		}
		inner := *r.resolve(under, depth+1)
		if e.Tag == dwarf.TagTypedef {
			inner.name = t.name
		}
		if t.goKind != 0 {
			inner.goKind = t.goKind
		}
		return &inner
	}
	if t.align == 0 {
		t.align = max(1, min(t.size, 16))
	}
	if declared, ok := e.Uint(dwarf.AttrAlignment); ok && declared <= 1<<16 {
		t.align = max(t.align, declared)
	}
	return t
}

// isAlias reports whether a tag only gives another type a name or a qualifier.
func isAlias(tag dwarf.Tag) bool {
	switch tag {
	case dwarf.TagTypedef, dwarf.TagConstType, dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType, dwarf.TagImmutableType:
		return true
	}
	return false
}

// isChar reports whether a type is char, after stripping typedefs and qualifiers.
func (r *reader) isChar(e dwarfline.DIE) bool {
	for range maxTypeDepth {
		if e.Tag == dwarf.TagBaseType {
			return r.resolve(e, 0).char
		}
		under, ok := e.Ref(dwarf.AttrType)
		if !ok || !isAlias(e.Tag) {
			return false
		}
		e = under
	}
	return false
}

func (r *reader) base(t *typ, e dwarfline.DIE) {
	encoding, _ := e.Uint(dwarf.AttrEncoding)
	t.class = classInteger
	switch encoding {
	case encAddress:
		t.kind = Pointer
	case encBoolean:
		t.kind = Bool
	case encSigned:
		t.kind = Signed
	case encUnsigned, encUTF:
		t.kind = Unsigned
	case encSignedChar, encUnsignedChar:
		t.kind = Signed
		if encoding == encUnsignedChar {
			t.kind = Unsigned
		}
		if t.char = t.name == "char" && t.size == 1 && r.lang.isC(); t.char {
			t.kind = Char
		}
	case encFloat, encDecimalFloat:
		t.kind, t.class = Float, classFloat
		if t.size == 16 && t.name == "long double" {
			t.class = classLongDouble
		}
	case encComplexFloat:
		t.kind, t.class, t.elem = Struct, classComplex, &typ{kind: Float, class: classFloat, size: t.size / 2, align: t.size / 2}
		t.align = t.size / 2
	default:
		t.class = classUnknown
	}
	if t.class == classInteger && t.size > 16 {
		t.class = classUnknown
	}
}

// array reads the bounds of an array; an array of unknown length has none.
func (r *reader) array(t *typ, e dwarfline.DIE, depth int) {
	t.kind, t.class, t.elem = Struct, classAggregate, unknownType
	if elem, ok := e.Ref(dwarf.AttrType); ok {
		t.elem = r.resolve(elem, depth+1)
	}
	t.count = 1
	for _, n := range bounds(e) {
		if t.count *= n; t.count > 1<<32 || n > 1<<32 {
			t.count = 1 << 32
		}
	}
	if t.size == 0 {
		t.size = t.count * min(t.elem.size, 1<<24)
	}
	t.align = t.elem.align
	if vector, _ := e.Uint(attrGNUVector); vector != 0 {
		t.class, t.align = classVector, t.size
	}
}

// bounds returns the number of elements in each dimension of an array, 0 if unknown.
func bounds(e dwarfline.DIE) []uint64 {
	var counts []uint64
	e.Children(func(c dwarfline.DIE) bool {
		if c.Tag == dwarf.TagSubrangeType {
			n, ok := c.Uint(dwarf.AttrCount)
			if last, has := c.Uint(dwarf.AttrUpperBound); !ok && has {
				n = last + 1
			}
			counts = append(counts, n)
		}
		return len(counts) < maxTypeDepth
	})
	return counts
}
