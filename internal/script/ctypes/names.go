package ctypes

import (
	"strings"

	"github.com/ringtap/ringtap/internal/script/types"
)

// ctype is a type with its alignment, which types.Type does not have: a struct's is not that
// of its fields if an attribute changes it.
type ctype struct {
	*types.Type
	align int
}

// plain returns a type whose alignment is its size.
func plain(t *types.Type) ctype { return ctype{t, max(t.Size, 1)} }

// blob is a type that programs can't compute with, of n bytes.
func blob(n, align int) ctype {
	return ctype{&types.Type{Kind: types.Array, Size: n, Elem: types.Uint8, Len: n}, align}
}

// integer returns the integer type of a size.
func integer(size int, signed bool) *types.Type {
	for _, t := range []*types.Type{
		types.Int8, types.Int16, types.Int32, types.Int64,
		types.Uint8, types.Uint16, types.Uint32, types.Uint64,
	} {
		if t.Size == size && t.Signed == signed {
			return t
		}
	}
	return nil
}

// own returns the types that only the language has.
func own(name string) (ctype, bool) {
	t := types.Type{}
	switch name {
	case "string":
		t.Kind = types.String
	case "buffer":
		t.Kind = types.Buffer
	case "inet":
		t.Kind = types.Inet
	case "usym_t":
		t.Kind = types.USym
	case "ksym_t":
		t.Kind = types.KSym
	case "username_t":
		t.Kind = types.Username
	case "macaddr_t":
		t.Kind = types.MAC
	case "timestamp":
		t.Kind = types.Timestamp
	case "cgroup_path_t":
		t.Kind = types.CgroupPath
	case "ustack_t":
		t.Kind, t.Mode = types.UStack, "bpftrace"
	case "kstack_t":
		t.Kind, t.Mode = types.KStack, "bpftrace"
	default:
		return ctype{}, false
	}
	return plain(&t), true
}

// named returns a type of the language or of C by its name, which may have several words. On
// amd64 and arm64 they are the same, but for char, which is always signed here, as bpftrace
// has it: arrays of it are strings.
func named(name string) (ctype, bool) {
	switch name {
	case "void":
		return ctype{types.Void, 1}, true
	case "bool", "_Bool":
		return plain(types.Truth), true
	case "char":
		return plain(types.Int8), true
	case "float":
		return blob(4, 4), true
	case "double":
		return blob(8, 8), true
	case "long double":
		return blob(16, 16), true
	case "wchar_t":
		return plain(types.Int32), true
	}
	if size, signed, ok := fixed(name); ok {
		return plain(integer(size, signed)), true
	}
	if t, ok := own(name); ok {
		return t, true
	}
	return composed(name)
}

// fixed knows the names of integers.
func fixed(name string) (size int, signed, ok bool) {
	switch name {
	case "int8", "int8_t", "s8", "__s8":
		return 1, true, true
	case "int16", "int16_t", "s16", "__s16":
		return 2, true, true
	case "int32", "int32_t", "s32", "__s32", "pid_t", "key_t", "clockid_t":
		return 4, true, true
	case "int64", "int64_t", "s64", "__s64", "ssize_t", "off_t", "loff_t", "off64_t", "time_t", "time64_t",
		"ktime_t", "intptr_t", "ptrdiff_t", "intmax_t", "clock_t":
		return 8, true, true
	case "uint8", "uint8_t", "u8", "__u8", "u_char", "unchar":
		return 1, false, true
	case "uint16", "uint16_t", "u16", "__u16", "__le16", "__be16", "u_short", "ushort", "umode_t", "sa_family_t", "in_port_t":
		return 2, false, true
	case "uint32", "uint32_t", "u32", "__u32", "__le32", "__be32", "u_int", "uint", "uid_t", "gid_t", "mode_t",
		"gfp_t", "in_addr_t", "socklen_t":
		return 4, false, true
	case "uint64", "uint64_t", "u64", "__u64", "__le64", "__be64", "u_long", "ulong", "size_t", "uintptr_t",
		"uintmax_t", "sector_t", "blkcnt_t", "ino_t", "dma_addr_t", "phys_addr_t", "resource_size_t":
		return 8, false, true
	}
	return 0, false, false
}

// composed reads C's words, such as long unsigned int, in any order.
func composed(name string) (ctype, bool) {
	var long, short, char, unsigned, signed, number int
	for _, word := range strings.Fields(name) {
		switch word {
		case "long":
			long++
		case "short":
			short++
		case "char":
			char++
		case "unsigned":
			unsigned++
		case "signed", "__signed__":
			signed++
		case "int":
			number++
		case "__int128":
			return blob(16, 16), true
		default:
			return ctype{}, false
		}
	}
	if unsigned+signed > 1 || long > 2 || short+char > 1 || long > 0 && short+char > 0 || number > 1 || char > 0 && number > 0 {
		return ctype{}, false
	}
	size := 4
	switch {
	case long > 0:
		size = 8
	case short > 0:
		size = 2
	case char > 0:
		size = 1
	}
	return plain(integer(size, unsigned == 0)), true
}
