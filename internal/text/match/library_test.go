package match

import "testing"

func TestSystemLibrariesAreKnownByTheirFileNames(t *testing.T) {
	for _, test := range []struct {
		file         string
		c, allocator bool
	}{
		{"libc.so.6", true, true},
		{"libc.so", true, true},
		{"libc-2.31.so", true, true},
		{"libc.musl-x86_64.so.1", true, true},
		{"ld-musl-aarch64.so.1", true, true},
		{"ld-linux-x86-64.so.2", true, false},
		{"libpthread-2.31.so", true, false},
		{"libjemalloc.so.2", false, true},
		{"libtcmalloc_minimal.so.4", false, true},
		{"libcrypto.so.3", false, false},
		{"libc++.so.1", false, false},
		{"", false, false},
	} {
		if c, allocator := IsCLibrary(test.file), IsAllocator(test.file); c != test.c || allocator != test.allocator {
			t.Errorf("%q: C library %v, allocator %v", test.file, c, allocator)
		}
	}
}
