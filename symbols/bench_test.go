package symbols

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

func BenchmarkLookup(b *testing.B) {
	f := openFile(b, systemFiles(b)[0], Options{})
	table, err := f.load()
	if err != nil {
		b.Fatal(err)
	}
	var offsets []uint64
	for _, e := range table.entries {
		if off, ok := f.image.Offset(e.addr); ok {
			offsets = append(offsets, off)
		}
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, ok := f.Lookup(offsets[i*31%len(offsets)]); !ok {
			b.Fatal("not found")
		}
	}
}

// BenchmarkFirstLookup opens a file and looks one address up, which reads its
// symbol tables.
func BenchmarkFirstLookup(b *testing.B) {
	for _, path := range systemFiles(b) {
		b.Run(strings.TrimPrefix(path, "/usr"), func(b *testing.B) {
			fd, err := os.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			defer fd.Close()
			info, err := fd.Stat()
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				f, err := Open(fd, info.Size(), Options{})
				if err != nil {
					b.Fatal(err)
				}
				f.Lookup(0)
			}
			f, err := Open(fd, info.Size(), Options{})
			if err != nil {
				b.Fatal(err)
			}
			table, _ := f.load()
			b.ReportMetric(float64(len(table.entries)), "symbols")
			b.ReportMetric(float64(len(table.entries)*16+len(table.names)), "retained-B")
		})
	}
}

func BenchmarkReadKallsyms(b *testing.B) {
	text := readKallsyms(b)
	b.ReportAllocs()
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := ReadKallsyms(bytes.NewReader(text)); err != nil {
			b.Fatal(err)
		}
	}
	k, err := ReadKallsyms(bytes.NewReader(text))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(k.Len()*18+len(k.table.names)), "retained-B")
	b.ReportMetric(float64(k.Len()), "symbols")
}

// BenchmarkReadProcKallsyms has the kernel's part of the work in it.
func BenchmarkReadProcKallsyms(b *testing.B) {
	readKallsyms(b)
	b.ReportAllocs()
	for b.Loop() {
		file, err := os.Open("/proc/kallsyms")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := ReadKallsyms(file); err != nil {
			b.Fatal(err)
		}
		file.Close()
	}
}

func BenchmarkKallsymsLookup(b *testing.B) {
	k, err := ReadKallsyms(bytes.NewReader(readKallsyms(b)))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, ok := k.Lookup(k.table.entries[i*7919%k.Len()].addr); !ok {
			b.Fatal("not found")
		}
	}
}

func BenchmarkReadPerfMap(b *testing.B) {
	var text strings.Builder
	for i := range 50000 {
		fmt.Fprintf(&text, "%x 80 LazyCompile:*function%d /app/node_modules/package/lib/file.js:%d\n", 0x7f0000000000+i*0x80, i, i%900)
	}
	b.ReportAllocs()
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := ReadPerfMap(strings.NewReader(text.String()), 0); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDemangle(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Demangle("_ZNSt6vectorIiSaIiEE17_M_realloc_insertIJRKiEEEvN9__gnu_cxx17__normal_iteratorIPiS1_EEDpOT_")
	}
}
