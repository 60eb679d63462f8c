package btf

import (
	"iter"
	"math/bits"
)

// pointerSize is the size of a pointer on the supported machines, in bytes.
const pointerSize = 8

// maxChain bounds how many typedefs, qualifiers and tags are followed, and how deeply types are
// nested. Circular references end there.
const maxChain = 32

// Type is a type, function or variable of a Spec. It is a small view into the Spec and can be
// copied freely. The zero Type is Void.
type Type struct {
	spec *Spec
	id   ID
	at   uint32 // offset in spec.types
	info uint32
}

// Type returns the type with a number, or Void.
func (s *Spec) Type(id ID) Type {
	for id < s.firstType {
		if s.base == nil {
			return Type{}
		}
		s = s.base
	}
	i := uint64(id - s.firstType)
	if i >= uint64(len(s.starts)) {
		return Type{}
	}
	at := s.starts[i]
	return Type{s, id, at, u32(s.types, int(at)+4)}
}

// Types returns the types that s itself describes, without its base, by number.
func (s *Spec) Types() iter.Seq[Type] {
	return func(yield func(Type) bool) {
		for i, at := range s.starts {
			if !yield(Type{s, s.firstType + ID(i), at, u32(s.types, int(at)+4)}) {
				return
			}
		}
	}
}

// Find returns the types with a kind and a name that s itself describes, without its base.
// There may be several: static functions with the same name, and structs with the same name in
// different files. It takes about a millisecond to scan a kernel's types.
func (s *Spec) Find(kind Kind, name string) iter.Seq[Type] {
	return func(yield func(Type) bool) {
		for i, at := range s.starts {
			info := u32(s.types, int(at)+4)
			if Kind(info>>24&maxKind) != kind || !s.isText(u32(s.types, int(at)), name) {
				continue
			}
			if !yield(Type{s, s.firstType + ID(i), at, info}) {
				return
			}
		}
	}
}

// ID returns the type's number.
func (t Type) ID() ID { return t.id }

// Kind returns the type's kind.
func (t Type) Kind() Kind { return Kind(t.info >> 24 & maxKind) }

// Name returns the type's name, without struct or union before it. It is "" for types without a
// name, such as pointers, arrays and anonymous structs. It may hold any bytes.
func (t Type) Name() string {
	if t.spec == nil {
		return ""
	}
	return t.spec.text(t.word(0))
}

// word returns a word of the type's description: 0 is its name, 1 info, 2 size or type; further
// data starts at 3. index has checked that the description is complete.
func (t Type) word(i int) uint32 { return u32(t.spec.types, int(t.at)+4*i) }

// flag returns kind_flag, whose meaning depends on the kind.
func (t Type) flag() bool { return t.info>>31 != 0 }

// Len returns the number of a struct's or union's members, an enum's enumerators, a function
// type's parameters, a section's variables, or an array's elements.
func (t Type) Len() int {
	if t.Kind() == Array {
		return int(t.word(5))
	}
	return int(t.info & maxMembers)
}

// Target returns the type that a pointer points to, or that a typedef, qualifier or tag stands
// for. For an array it is the element type, for a function or variable its type, for a function
// type the return type. For other kinds it is Void.
func (t Type) Target() Type {
	switch t.Kind() {
	case Pointer, Typedef, Volatile, Const, Restrict, Func, FuncProto, Var, DeclTag, TypeTag:
		return t.spec.Type(ID(t.word(2)))
	case Array:
		return t.spec.Type(ID(t.word(3)))
	}
	return Type{}
}

// standsForAnother reports whether a type is a typedef, qualifier or tag of another type.
func (t Type) standsForAnother() bool {
	switch t.Kind() {
	case Typedef, Volatile, Const, Restrict, TypeTag:
		return true
	}
	return false
}

// Resolve returns the type without typedefs, qualifiers and tags.
func (t Type) Resolve() Type {
	for range maxChain {
		if !t.standsForAnother() {
			return t
		}
		t = t.Target()
	}
	return Type{}
}

// Qualified reports whether the chain of typedefs, qualifiers and tags from t contains one of a
// kind: Const, Volatile, Restrict, or a Typedef or TypeTag with a name. "" matches any name.
func (t Type) Qualified(kind Kind, name string) bool {
	for range maxChain {
		if t.Kind() == kind && (name == "" || t.Name() == name) {
			return true
		}
		if !t.standsForAnother() {
			return false
		}
		t = t.Target()
	}
	return false
}

// Size returns the size of a value in bytes. It returns false if the type has no size, such as
// void and functions, or an impossible one.
func (t Type) Size() (uint64, bool) {
	size := uint64(1)
	for range maxChain {
		t = t.Resolve()
		var own uint32
		switch t.Kind() {
		case Int, Struct, Union, Enum, Float, Enum64, Datasec:
			own = t.word(2)
		case Pointer:
			own = pointerSize
		case Array:
			own = t.word(5)
		default:
			return 0, false
		}
		high, low := bits.Mul64(size, uint64(own))
		if high != 0 || low > 1<<40 {
			return 0, false
		}
		size = low
		if t.Kind() != Array {
			return size, true
		}
		t = t.Target()
	}
	return 0, false
}

// Encodings of an Int.
const (
	encodingSigned = 1 << 0
	encodingChar   = 1 << 1
	encodingBool   = 1 << 2
)

// Signed reports whether an Int or Enum has negative values.
func (t Type) Signed() bool {
	switch t.Kind() {
	case Int:
		return t.word(3)>>24&encodingSigned != 0
	case Enum, Enum64:
		return t.flag()
	}
	return false
}

// Bool reports whether the type is _Bool.
func (t Type) Bool() bool { return t.Kind() == Int && t.word(3)>>24&encodingBool != 0 }

// Char reports whether the type is char, signed char or unsigned char: an Int of one byte with
// such a name. Most compilers do not set the encoding for it.
func (t Type) Char() bool {
	if t.Kind() != Int || t.word(2) != 1 {
		return false
	}
	switch t.Name() {
	case "char", "signed char", "unsigned char":
		return true
	}
	return t.word(3)>>24&encodingChar != 0
}

// intBits returns the first bit and the number of bits of an Int within its bytes. They give a
// bitfield's place in data without the flag for it.
func (t Type) intBits() (offset, width uint32) {
	word := t.word(3)
	return word >> 16 & 0xff, word & 0xff
}

// IsUnion reports whether a Forward declares a union, and not a struct.
func (t Type) IsUnion() bool { return t.Kind() == Union || t.Kind() == Forward && t.flag() }
