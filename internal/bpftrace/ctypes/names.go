package ctypes

import (
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/text/cexpr"
)

// ctype is a type with its alignment in bytes, which types.Type lacks. An attribute may give a
// struct an alignment that its fields do not imply.
type ctype struct {
	*types.Type
	align int
}

// plain returns a type whose alignment is its size.
func plain(t *types.Type) ctype { return ctype{t, max(t.Size, 1)} }

// blob returns an opaque type of n bytes.
func blob(n, align int) ctype {
	return ctype{types.Opaque(n), align}
}

// own returns the types that only the bpftrace language has.
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

// named returns a type of the language or of C by its name, which may have several words. The types
// are the same on amd64 and arm64, except char. It is always signed here, as in bpftrace, and
// arrays of it are strings.
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
	if t, ok := own(name); ok {
		return t, true
	}
	words := strings.Fields(name)
	if slices.Contains(words, "__int128") {
		return blob(16, 16), true
	}
	t, ok := cexpr.LookupInteger(words)
	return plain(types.Integer(t.Size, t.Signed)), ok
}
