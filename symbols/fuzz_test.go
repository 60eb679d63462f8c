package symbols

import (
	"bytes"
	"os"
	"testing"

	"github.com/ringtap/ringtap/internal/object/gotable"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"

	"github.com/ringtap/ringtap/symbols/dwarfparam"
)

// seeds adds files of testdata, which are as small as compilers make them.
func seeds(f *testing.F, paths ...string) {
	f.Helper()
	for _, path := range paths {
		b, err := os.ReadFile("testdata/" + path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
}

// FuzzFile reads everything that a File reads. Whatever the bytes are, there
// may be errors, but no panic, and a symbol must cover the place it is found at.
func FuzzFile(f *testing.F) {
	fuzzing.Bound(f)
	seeds(f, "tiny.elf", "tiny32.elf", "tiny-dynamic.elf", "../../internal/object/pytable/testdata/module.elf")
	f.Fuzz(func(t *testing.T, data []byte) {
		open := func(string) (ReaderAtCloser, int64, error) {
			return memFile{bytes.NewReader(data)}, int64(len(data)), nil
		}
		file, err := Open(bytes.NewReader(data), int64(len(data)), Options{Path: "/a/b", Open: open})
		if err != nil {
			return
		}
		defer file.Close()
		file.BuildID()
		file.Load()
		for off := uint64(0); off < uint64(len(data)); off += 7 {
			s, ok := file.Lookup(off)
			if ok && (s.Name == "" || off < s.Start || off-s.Start >= s.Size) {
				t.Fatalf("Lookup(%#x) = %+v", off, s)
			}
			if start, size, ok := file.Bounds(off); ok && (off < start || off-start >= size) {
				t.Fatalf("Bounds(%#x) = %#x, %#x", off, start, size)
			}
			if s, ok := file.Implied(off); ok && (s.Name == "" || off < s.Start || off-s.Start >= s.Size) {
				t.Fatalf("Implied(%#x) = %+v", off, s)
			}
			if s.Guessed && off%61 == 0 {
				file.Reaches(s.Start, off)
			}
			if off%61 == 0 {
				file.Lines(off)
			}
		}
	})
}

// FuzzFunctionsAndParams asks a file for what probes need. Whatever the bytes are
// there may be errors, but no panic, no answer without end, and no place outside
// of the file.
func FuzzFunctionsAndParams(f *testing.F) {
	fuzzing.Bound(f)
	seeds(f, "tiny.elf", "tiny32.elf", "params-plain.elf", "params-optimized.elf")
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Open(bytes.NewReader(data), int64(len(data)), Options{})
		if err != nil {
			return
		}
		all, _ := file.Functions()
		for i, fn := range all {
			if fn.Kind != Imported && fn.Offset >= uint64(len(data)) || fn.Name == "" {
				t.Fatalf("%+v", fn)
			}
			if i < 64 {
				checkParams(t, file, fn.Offset)
			}
			if i < 8 {
				if found, _ := file.Find(fn.Name); len(found) == 0 {
					t.Fatalf("%+v is not found", fn)
				}
				file.Find(Demangle(fn.Name))
				file.Nearest(fn.Name[1:], 3)
			}
		}
		file.Match("*a*")
		for line := 1; line < 8; line++ {
			places, err := file.Places("tiny.c", line)
			if err == nil && len(places) == 0 {
				t.Fatalf("line %d: neither places nor an error", line)
			}
			file.Places("params.c", line*2)
		}
	})
}

func checkParams(t *testing.T, file *File, offset uint64) {
	params, err := file.TypedParams(offset)
	_, _ = file.FindType(offset, "struct s")
	for _, p := range params[:min(len(params), 4)] {
		for _, path := range []string{p.Name, p.Name + "->x", "*" + p.Name, p.Name + "[1]"} {
			_, _ = file.Value(offset, path)
			_, _ = file.Value(offset+4, path)
		}
	}
	if err != nil && len(params) > 0 {
		t.Fatalf("%v and %v", params, err)
	}
	for _, p := range params {
		if loc := p.Location; loc.Where == dwarfparam.Nowhere && loc.Why == "" || loc.Register < 0 || loc.Register > 31 || p.Size < 0 {
			t.Fatalf("%+v", p)
		}
		if len(p.Type) > 64<<10 || len(p.Parts) > 16 {
			t.Fatalf("%d bytes of type, %d parts", len(p.Type), len(p.Parts))
		}
	}
}

type memFile struct{ *bytes.Reader }

func (memFile) Close() error { return nil }

// FuzzGoTable gives the Go parser its table without an ELF file around.
func FuzzGoTable(f *testing.F) {
	for _, magic := range []gotable.Version{gotable.Go12, gotable.Go116, gotable.Go118, gotable.Go120} {
		data, _ := goTableBytes(magic)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := goTableOf(data)
		if err != nil {
			return
		}
		table.GoFunc = 64
		b := &builder{code: []codeRange{{0, 1 << 40}}}
		if b.addGoTable(table.Table) == nil {
			b.finish()
		}
		for addr := uint64(0); addr < 1<<12; addr += 13 {
			for _, base := range []uint64{table.Text, table.Entry(0)} {
				table.lines(base + addr)
			}
		}
	})
}

func FuzzReadKallsyms(f *testing.F) {
	fuzzing.Bound(f)
	f.Add([]byte(kallsymsText))
	f.Add([]byte("0000000000000000 T a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var p kallsymsParser // ReadKallsyms first makes room for a real kernel's
		k, err := p.parse(bytes.NewReader(data))
		if err != nil {
			return
		}
		for _, e := range k.table.entries {
			for _, addr := range []uint64{e.addr, e.addr + uint64(e.size) - 1, e.addr + uint64(e.size)} {
				if s, ok := k.Lookup(addr); ok && addr-s.Start >= s.Size {
					t.Fatalf("Lookup(%#x) = %+v", addr, s)
				}
			}
		}
	})
}

func FuzzReadPerfMap(f *testing.F) {
	f.Add([]byte("1000 10 a\n1008 10 b c\n1000 4 d\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := ReadPerfMap(bytes.NewReader(data), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range p.ranges {
			if s, ok := p.Lookup(e.start); !ok || s.Start != e.start {
				t.Fatalf("Lookup(%#x) = %+v, %v", e.start, s, ok)
			}
			if i > 0 && p.ranges[i-1].start+uint64(p.ranges[i-1].size) > e.start {
				t.Fatalf("ranges %d and %d overlap", i-1, i)
			}
		}
	})
}

func FuzzDemangle(f *testing.F) {
	f.Add("_ZN2ns1T1fIiEEvPKc.llvm.1@plt")
	f.Add("_RNvNtCs1234_7mycrate3foo3bar")
	f.Fuzz(func(t *testing.T, name string) {
		for _, text := range []string{Demangle(name), DemangleParams(name)} {
			if len(text) > len(name)+2<<maxDemangledPower {
				t.Fatalf("%d bytes become %d", len(name), len(text))
			}
		}
	})
}

func FuzzUnxz(f *testing.F) {
	// The word "text" as xz packs it.
	f.Add([]byte("\xfd\x37\x7a\x58\x5a\x00\x00\x04\xe6\xd6\xb4\x46" + // stream header
		"\x02\x00\x21\x01\x16\x00\x00\x00\x74\x2f\xe5\xa3" + // block header
		"\x01\x00\x03\x74\x65\x78\x74\x00\x55\xcd\xe8\x33\xff\x4a\x0c\x17\x00\x01\x1c\x04\x6f\x2c\x9c\xc1\x1f\xb6\xf3\x7d\x01\x00\x00\x00\x00\x04\x59\x5a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 1 << 16
		if out, err := unxz(data, limit); err == nil && len(out) > limit {
			t.Fatalf("%d bytes", len(out))
		}
	})
}
