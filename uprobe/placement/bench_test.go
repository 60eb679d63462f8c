package placement

import "testing"

// BenchmarkEntry is the time for one of libc's functions.
func BenchmarkEntry(b *testing.B) {
	all := functions(b, "/lib/x86_64-linux-gnu/libc.so.6")
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		all[i%len(all)].Entry()
	}
}
