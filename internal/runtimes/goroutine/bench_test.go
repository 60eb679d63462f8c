package goroutine

import (
	"context"
	"runtime"
	"testing"
)

// BenchmarkGoroutines reads a hundred thousand goroutines; found again each time, as
// a command does it.
func BenchmarkGoroutines(b *testing.B) {
	for _, flags := range []string{"", "-s -w"} {
		b.Run("flags="+flags, func(b *testing.B) {
			p := startProgram(b, buildProgram(b, "park", []string{"CGO_ENABLED=0"}, "-ldflags="+flags), "100000")
			b.ReportAllocs()
			var kept []*Goroutine
			for b.Loop() {
				r := p.runtime(b)
				kept = kept[:0]
				err := r.Goroutines(context.Background(), func(g *Goroutine) bool {
					kept = append(kept, g)
					return true
				})
				if err != nil {
					b.Fatal(err)
				}
				if len(kept) < 100_000 {
					b.Fatalf("%d goroutines", len(kept))
				}
			}
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			b.ReportMetric(float64(memory.Sys)/(1<<20), "MiB")
			b.ReportMetric(float64(len(kept)), "goroutines")
		})
	}
}
