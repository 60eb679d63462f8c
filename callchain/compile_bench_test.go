package callchain

import (
	"os"
	"testing"
)

func benchmarkCompile(b *testing.B, path string) {
	f, err := os.Open(path)
	if err != nil {
		b.Skipf("no %s: %v", path, err)
	}
	defer f.Close()
	var table *Table
	b.ReportAllocs()
	for b.Loop() {
		if table, err = Compile(f); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(table.Bytes()), "table-B")
	b.ReportMetric(float64(table.Functions()), "functions")
}

// BenchmarkFirstFind makes the rules of a function that was not asked for before.
func BenchmarkFirstFind(b *testing.B) {
	table := compileFile(b, libraryPath(b, "libstdc++.so.6"))
	var starts []uint64
	for i := range table.eh.Len() {
		if f, ok := table.eh.At(i); ok {
			starts = append(starts, f.Start)
		}
	}
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if i%len(starts) == 0 {
			table.units, table.bytes = nil, 0
		}
		f, ok := table.place(function{}, starts[i*7919%len(starts)], 1<<63)
		if !ok || table.find(f.start) == nil {
			b.Fatalf("no rules at %#x", f.start)
		}
		i++
	}
}

func BenchmarkCompileLibc(b *testing.B) {
	benchmarkCompile(b, libraryPath(b, "libc.so.6"))
}

func BenchmarkCompileLibstdcxx(b *testing.B) {
	benchmarkCompile(b, libraryPath(b, "libstdc++.so.6"))
}

func BenchmarkCompileGoCommand(b *testing.B) {
	benchmarkCompile(b, goCommand(b))
}
