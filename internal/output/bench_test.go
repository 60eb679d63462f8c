package output

import (
	"io"
	"testing"
)

// BenchmarkForms writes a profile of 20,000 stacks in every form.
func BenchmarkForms(b *testing.B) {
	p := forest(91, 20000)
	for _, f := range forms() {
		b.Run(f.ending[1:], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := f.write(io.Discard, p, FileOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkTables writes the three tables with the ten largest of 20,000 rows.
func BenchmarkTables(b *testing.B) {
	p := forest(92, 20000)
	for _, drawn := range []bool{false, true} {
		name := "piped"
		if drawn {
			name = "drawn"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := WriteTables(io.Discard, p, TableOptions{Drawn: drawn, Top: 10, Width: 120}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
