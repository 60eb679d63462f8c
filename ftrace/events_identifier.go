package ftrace

import (
	"fmt"
	"hash/fnv"
	"strings"
)

// EventIdentifier makes a valid, recognizable event name out of any symbol: ns::T::f(int) gives
// ns_T_f_int, github.com/x/y.(*T).m gives y_T_m, memcpy@@GLIBC_2.14 gives memcpy. A valid name
// is returned unchanged. The same symbol always gives the same name, but two symbols may give
// the same name, for instance two operators of a class. A name that would be too long is cut
// and ends with a hash of the symbol.
func EventIdentifier(symbol string) string {
	name := symbol
	if at := strings.IndexByte(name, '@'); at > 0 {
		name = name[:at] // the version
	}
	name = dropImportPath(name)
	name = dropRustHash(name)
	var b strings.Builder
	for _, r := range name {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			b.WriteRune(r)
		} else if s := b.String(); s != "" && !strings.HasSuffix(s, "_") {
			b.WriteByte('_')
		}
	}
	name = b.String()
	if !isIdentifier(symbol) {
		name = strings.TrimRight(name, "_")
	}
	switch {
	case name == "":
		return "event"
	case name[0] >= '0' && name[0] <= '9':
		name = "_" + name
	case name == "enable", name == "filter":
		name += "_" // clashes with a file in a group's directory
	}
	if len(name) > MaxEventName {
		hash := fnv.New32a()
		hash.Write([]byte(symbol))
		name = fmt.Sprintf("%s_%08x", name[:MaxEventName-9], hash.Sum32())
	}
	return name
}

// dropImportPath drops the path before the package name in github.com/x/y.(*T).m. It keeps a
// C++ operator/, whose slash is not followed by a name.
func dropImportPath(name string) string {
	head := name
	if end := strings.IndexAny(name, "([<* "); end >= 0 {
		head = name[:end]
	}
	slash := strings.LastIndexByte(head, '/')
	if slash < 0 || slash+1 == len(head) || !isIdentifier(head[slash+1:slash+2]) || !strings.Contains(head[slash:], ".") {
		return name
	}
	// In the last path element, the linker writes a dot as %2e.
	return strings.ReplaceAll(name[slash+1:], "%2e", ".")
}

// dropRustHash drops the suffix ::h0123456789abcdef of Rust's older names.
func dropRustHash(name string) string {
	const length = len("::h0123456789abcdef")
	cut := len(name) - length
	if cut <= 0 || !strings.HasPrefix(name[cut:], "::h") || strings.Trim(name[cut+3:], "0123456789abcdef") != "" {
		return name
	}
	return name[:cut]
}
