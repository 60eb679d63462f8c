package ftrace

import "strings"

// ctype is what the arithmetic of a print format must know of a C type.
// Integers have their size in bytes and a sign. A pointer is an unsigned
// integer of 8 bytes, and element is what it points to; whose size is 0 where
// it isn't known.
type ctype struct {
	size    int
	signed  bool
	boolean bool
	pointer bool
	element *ctype
}

var (
	typeInt   = ctype{size: 4, signed: true}
	typeLong  = ctype{size: 8, signed: true}
	typeULong = ctype{size: 8}
	typeByte  = ctype{size: 1}
)

// lookupType finds the type that a C declaration names without the name of a
// variable: "unsigned long", "const char *", "u64". Qualifiers don't matter. A
// name that it does not know, such as a structure's, gives false.
func lookupType(text string) (ctype, bool) {
	if base, ok := strings.CutSuffix(strings.TrimSpace(text), "*"); ok {
		element, _ := lookupType(base)
		return ctype{size: 8, pointer: true, element: &element}, true
	}
	var words []string
	for _, word := range strings.Fields(text) {
		switch word {
		case "const", "volatile", "static", "register", "__user", "__force", "__bitwise":
		default:
			words = append(words, word)
		}
	}
	if len(words) == 1 {
		if t, ok := typedefs(words[0]); ok {
			return t, true
		}
	}
	if len(words) > 0 && words[0] == "enum" {
		return ctype{size: 4}, true
	}
	return basicType(words)
}

// basicType adds up the words of C's own integer types.
func basicType(words []string) (ctype, bool) {
	t := ctype{signed: true}
	long := 0
	for _, word := range words {
		switch word {
		case "unsigned":
			t.signed = false
		case "signed", "int":
		case "char":
			t.size = 1
		case "short":
			t.size = 2
		case "long":
			long++
		case "void":
			return ctype{size: 1}, len(words) == 1 // as GNU C counts in void *
		default:
			return ctype{}, false
		}
	}
	switch {
	case len(words) == 0:
		return ctype{}, false
	case long > 0:
		t.size = 8
	case t.size == 0:
		t.size = 4
	}
	return t, true
}

// typedefs knows the kernel's own names for integers that print formats cast
// to. Other names are learned from the event's fields.
func typedefs(name string) (ctype, bool) {
	switch name {
	case "bool", "_Bool":
		return ctype{size: 1, boolean: true}, true
	case "u8", "__u8", "uint8_t", "uchar":
		return ctype{size: 1}, true
	case "s8", "__s8", "int8_t":
		return ctype{size: 1, signed: true}, true
	case "u16", "__u16", "uint16_t", "__le16", "__be16", "umode_t", "ushort":
		return ctype{size: 2}, true
	case "s16", "__s16", "int16_t":
		return ctype{size: 2, signed: true}, true
	case "u32", "__u32", "uint32_t", "__le32", "__be32", "uint", "gfp_t", "dev_t", "uid_t", "gid_t", "blk_opf_t", "fmode_t":
		return ctype{size: 4}, true
	case "s32", "__s32", "int32_t", "pid_t", "__kernel_rwf_t":
		return typeInt, true
	case "u64", "__u64", "uint64_t", "__le64", "__be64", "size_t", "ulong", "uintptr_t",
		"sector_t", "ino_t", "pgoff_t", "phys_addr_t", "dma_addr_t", "resource_size_t":
		return typeULong, true
	case "s64", "__s64", "int64_t", "ssize_t", "loff_t", "off_t", "ptrdiff_t", "ktime_t", "time64_t":
		return typeLong, true
	}
	return ctype{}, false
}

// convert gives the value that a number has as type t.
func (t ctype) convert(v uint64) uint64 {
	switch {
	case t.boolean:
		if v != 0 {
			return 1
		}
		return 0
	case t.size <= 0 || t.size >= 8:
		return v
	case t.signed:
		return signExtend(v, t.size)
	}
	return v & (1<<(8*uint(t.size)) - 1)
}

// promote is C's integer promotion: what is narrower than int becomes int.
func (t ctype) promote() ctype {
	if t.size < 4 {
		return typeInt
	}
	return ctype{size: t.size, signed: t.signed}
}

// common is the type in which C calculates with a and b.
func common(a, b ctype) ctype {
	a, b = a.promote(), b.promote()
	switch {
	case a.size > b.size:
		return a
	case b.size > a.size:
		return b
	}
	return ctype{size: a.size, signed: a.signed && b.signed}
}
