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
	b.ReportMetric(float64(table.Rows()), "rows")
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
