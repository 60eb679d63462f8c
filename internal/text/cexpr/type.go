package cexpr

import (
	"encoding/binary"
	"strings"
)

// Type is a C type as arithmetic needs it: an integer with a size in bytes and a sign. A
// pointer is an unsigned integer of 8 bytes. Element is the type that it points to; its Size is
// 0 if unknown.
type Type struct {
	Size    int
	Signed  bool
	Bool    bool
	Pointer bool
	Element *Type
}

// Types of constants and results of conversions.
var (
	Int   = Type{Size: 4, Signed: true}
	UInt  = Type{Size: 4}
	Long  = Type{Size: 8, Signed: true}
	ULong = Type{Size: 8}
	Byte  = Type{Size: 1}
)

// LookupType returns the type of a C declaration without the variable's name: "unsigned long",
// "const char *", "u64". Qualifiers are ignored. It returns false for an unknown name, such as
// a structure's.
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
	if len(words) > 0 && words[0] == "enum" {
		return UInt, true
	}
	return LookupInteger(words)
}

// isQualifier reports whether a word has no effect on a type's arithmetic.
func isQualifier(word string) bool {
	switch word {
	case "const", "volatile", "static", "register", "__user", "__force", "__bitwise":
		return true
	}
	return false
}

// LookupInteger returns the integer type with the given words: a type of C itself, or a name
// that the kernel, the C library or the one-liner language defines.
func LookupInteger(words []string) (Type, bool) {
	if len(words) == 1 {
		if t, ok := typedefs(words[0]); ok {
			return t, true
		}
	}
	return LookupBasic(words)
}

// LookupBasic returns the C integer type with the given words, in any order. void is one byte,
// as in GNU C's arithmetic on void *.
func LookupBasic(words []string) (Type, bool) {
	t := Type{Size: 4, Signed: true}
	var long, short, char, sign, number int
	for _, word := range words {
		switch word {
		case "unsigned":
			t.Signed = false
			sign++
		case "signed", "__signed__":
			sign++
		case "int":
			number++
		case "char":
			t.Size = 1
			char++
		case "short":
			t.Size = 2
			short++
		case "long":
			t.Size = 8
			long++
		case "void":
			return Byte, len(words) == 1
		case "bool", "_Bool":
			return Type{Size: 1, Bool: true}, len(words) == 1
		default:
			return Type{}, false
		}
	}
	if len(words) == 0 || sign > 1 || number > 1 || long > 2 || short+char > 1 || long > 0 && short+char > 0 || char > 0 && number > 0 {
		return Type{}, false
	}
	return t, true
}

// typedefs returns integer types whose names are not C's own.
func typedefs(name string) (Type, bool) {
	switch name {
	case "u8", "__u8", "uint8", "uint8_t", "uchar", "u_char", "unchar":
		return Byte, true
	case "s8", "__s8", "int8", "int8_t":
		return Type{Size: 1, Signed: true}, true
	case "u16", "__u16", "uint16", "uint16_t", "__le16", "__be16", "umode_t", "ushort", "u_short", "sa_family_t", "in_port_t":
		return Type{Size: 2}, true
	case "s16", "__s16", "int16", "int16_t":
		return Type{Size: 2, Signed: true}, true
	case "u32", "__u32", "uint32", "uint32_t", "__le32", "__be32", "uint", "u_int", "gfp_t", "dev_t", "uid_t", "gid_t",
		"mode_t", "blk_opf_t", "fmode_t", "in_addr_t", "socklen_t":
		return UInt, true
	case "s32", "__s32", "int32", "int32_t", "pid_t", "key_t", "clockid_t", "__kernel_rwf_t":
		return Int, true
	case "u64", "__u64", "uint64", "uint64_t", "__le64", "__be64", "size_t", "ulong", "u_long", "uintptr_t", "uintmax_t",
		"sector_t", "blkcnt_t", "ino_t", "pgoff_t", "phys_addr_t", "dma_addr_t", "resource_size_t":
		return ULong, true
	case "s64", "__s64", "int64", "int64_t", "ssize_t", "loff_t", "off_t", "off64_t", "ptrdiff_t", "intptr_t", "intmax_t",
		"ktime_t", "time_t", "time64_t", "clock_t":
		return Long, true
	}
	return Type{}, false
}

// Convert converts a number to type t and extends it to 64 bits.
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

// Promote is C's integer promotion: types narrower than int become int.
func (t Type) Promote() Type {
	if t.Size < 4 {
		return Int
	}
	return Type{Size: t.Size, Signed: t.Signed}
}

// Load decodes the integer of size bytes (1, 2, 4 or 8) at the start of b. It assumes
// little-endian: both supported architectures are, and records are read on the machine that
// wrote them or on a similar one.
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

// Common returns the type in which C calculates with a and b.
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
