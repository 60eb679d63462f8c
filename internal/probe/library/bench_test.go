package library

import (
	"os"
	"testing"
)

func BenchmarkFind(b *testing.B) {
	for _, bench := range []struct {
		name string
		pid  int
	}{{"libc", 0}, {"sh", 0}, {"libc", os.Getppid()}, {"libthere-is-none", 0}} {
		name := bench.name
		if bench.pid != 0 {
			name += " of a process"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if target, err := Find(bench.name, Options{PID: bench.pid}); err == nil {
					target.File.Close()
				}
			}
		})
	}
}
