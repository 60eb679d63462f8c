package match

import (
	"slices"
	"strings"
)

// Prefixes of the file names of system libraries, of glibc (before 2.34 too) and of musl.
var (
	cLibraries = []string{"libc.so", "libc-2.", "libc.musl-", "ld-musl-"}
	cParts     = []string{"ld-linux", "libpthread"} // glibc's, without an allocator for programs
	allocators = []string{"libjemalloc", "libtcmalloc", "libmimalloc"}
)

// IsCLibrary reports whether a file's base name is that of the C library, its dynamic loader or
// its thread library.
func IsCLibrary(file string) bool { return hasPrefix(file, cLibraries) || hasPrefix(file, cParts) }

// IsAllocator reports whether a file's base name is that of a library that defines malloc(3): the
// C library or one that replaces its allocator.
func IsAllocator(file string) bool { return hasPrefix(file, cLibraries) || hasPrefix(file, allocators) }

func hasPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(s, prefix) })
}
