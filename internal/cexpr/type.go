package cexpr

import (
	"encoding/binary"
	"strings"
)

// Type is what arithmetic must know of a C type. Integers have their size in bytes
// and a sign. A pointer is an unsigned integer of 8 bytes, and Element is what it
// points to, whose Size is 0 where it isn't known.
type Type struct {
	Size    int
	Signed  bool
	Bool    bool
	Pointer bool
	Element *Type
}

// Types of C that constants have and conversions give.
var (
	Int   = Type{Size: 4, Signed: true}
	UInt  = Type{Size: 4}
	Long  = Type{Size: 8, Signed: true}
	ULong = Type{Size: 8}
	Byte  = Type{Size: 1}
)

// LookupType finds the type that a C declaration names without the name of a
// variable: "unsigned long", "const char *", "u64". Qualifiers don't matter. A
// name that it does not know, such as a structure's, gives false.
func LookupType(text string) (Type, bool) {
	if base, ok := strings.CutSuffix(strings.TrimSpace(text), "*"); ok {
		element, _ := LookupType(base)
		return Type{Size: 8, Pointer: true, Element: &element}, true
	}
	var words []string
	for _, word := range strings.Fields(text) {
		if !isQualifier(word) {
			words = append(words, word)
		}
	}
	if len(words) == 1 {
		if t, ok := typedefs(words[0]); ok {
			return t, true
		}
	}
	if len(words) > 0 && words[0] == "enum" {
		return UInt, true
	}
	return LookupInteger(words)
}

// isQualifier reports whether a word says nothing about how a type calculates.
func isQualifier(word string) bool {
	switch word {
	case "const", "volatile", "static", "register", "__user", "__force", "__bitwise":
		return true
	}
	return false
}

// LookupInteger adds up the words of C's own integer types, which may be in any
// order. void is a byte, as GNU C counts in void *.
func LookupInteger(words []string) (Type, bool) {
	t := Type{Signed: true}
	long := 0
	for _, word := range words {
		switch word {
		case "unsigned":
			t.Signed = false
		case "signed", "int":
		case "char":
			t.Size = 1
		case "short":
			t.Size = 2
		case "long":
			long++
		case "void":
			return Byte, len(words) == 1
		case "bool", "_Bool":
			return Type{Size: 1, Bool: true}, len(words) == 1
		default:
			return Type{}, false
		}
	}
	switch {
	case len(words) == 0:
		return Type{}, false
	case long > 0:
		t.Size = 8
	case t.Size == 0:
		t.Size = 4
	}
	return t, true
}

// typedefs knows the kernel's own names for integers.
func typedefs(name string) (Type, bool) {
	switch name {
	case "u8", "__u8", "uint8_t", "uchar":
		return Byte, true
	case "s8", "__s8", "int8_t":
		return Type{Size: 1, Signed: true}, true
	case "u16", "__u16", "uint16_t", "__le16", "__be16", "umode_t", "ushort":
		return Type{Size: 2}, true
	case "s16", "__s16", "int16_t":
		return Type{Size: 2, Signed: true}, true
	case "u32", "__u32", "uint32_t", "__le32", "__be32", "uint", "gfp_t", "dev_t", "uid_t", "gid_t", "blk_opf_t", "fmode_t":
		return UInt, true
	case "s32", "__s32", "int32_t", "pid_t", "__kernel_rwf_t":
		return Int, true
	case "u64", "__u64", "uint64_t", "__le64", "__be64", "size_t", "ulong", "uintptr_t",
		"sector_t", "ino_t", "pgoff_t", "phys_addr_t", "dma_addr_t", "resource_size_t":
		return ULong, true
	case "s64", "__s64", "int64_t", "ssize_t", "loff_t", "off_t", "ptrdiff_t", "ktime_t", "time64_t":
		return Long, true
	}
	return Type{}, false
}

// Convert gives the value that a number has as type t, extended to 64 bits.
func (t Type) Convert(v uint64) uint64 {
	switch {
	case t.Bool:
		return min(v, 1)
	case t.Size <= 0 || t.Size >= 8:
		return v
	case t.Signed:
		shift := 64 - 8*uint(t.Size)
		return uint64(int64(v<<shift) >> shift)
	}
	return v & (1<<(8*uint(t.Size)) - 1)
}

// Promote is C's integer promotion: what is narrower than int becomes int.
func (t Type) Promote() Type {
	if t.Size < 4 {
		return Int
	}
	return Type{Size: t.Size, Signed: t.Signed}
}

// Load reads an integer of size bytes, 1, 2, 4 or 8, from b's start. Records are
// read on the machine that wrote them or on one like it: both architectures that
// are supported are little-endian.
func Load(b []byte, size int) (uint64, bool) {
	if size > len(b) {
		return 0, false
	}
	switch size {
	case 1:
		return uint64(b[0]), true
	case 2:
		return uint64(binary.LittleEndian.Uint16(b)), true
	case 4:
		return uint64(binary.LittleEndian.Uint32(b)), true
	case 8:
		return binary.LittleEndian.Uint64(b), true
	}
	return 0, false
}

// Common is the type in which C calculates with a and b.
func Common(a, b Type) Type {
	a, b = a.Promote(), b.Promote()
	switch {
	case a.Size > b.Size:
		return a
	case b.Size > a.Size:
		return b
	}
	return Type{Size: a.Size, Signed: a.Signed && b.Signed}
}
