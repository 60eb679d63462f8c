package symbols

import (
	"debug/elf"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// openPath opens a file of this machine with its separate debug file; nil if it is no
// ELF file, or too large for a quick test.
func openPath(t testing.TB, path string) *File {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > 64<<20 {
		return nil
	}
	file, err := Open(f, info.Size(), Options{Path: path, Open: func(path string) (ReaderAtCloser, int64, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, 0, err
		}
		info, err := f.Stat()
		if err == nil && info.IsDir() {
			err = errors.New("a directory")
		}
		return f, info.Size(), err
	}})
	if err != nil {
		return nil
	}
	t.Cleanup(func() { file.Close() })
	return file
}

// placesOf are file offsets in the code of a file: random ones, and those around its
// symbols.
func placesOf(f *File) (offsets []uint64) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, s := range f.image.Segments {
		if s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 && s.Filesz > 0 {
			for range 100 {
				offsets = append(offsets, s.Off+random.Uint64N(s.Filesz))
			}
		}
	}
	for _, s := range f.image.Sections {
		if s.Type == elf.SHT_PROGBITS && s.Flags&elf.SHF_EXECINSTR != 0 && s.Size > 0 {
			for range 20 { // a stub's among them
				offsets = append(offsets, s.Offset+random.Uint64N(s.Size))
			}
		}
	}
	table, _ := f.load()
	for range min(len(table.entries), 100) {
		e := table.entries[random.IntN(len(table.entries))]
		for _, addr := range []uint64{e.addr - 1, e.addr, e.addr + 1, e.addr + uint64(e.size) - 1, e.addr + uint64(e.size)} {
			if offset, ok := f.image.Offset(addr); ok {
				offsets = append(offsets, offset)
			}
		}
	}
	return offsets
}

func TestPreparedPlacesHaveTheNamesOfWholeTables(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"/usr/lib/*-linux-gnu/*.so*", "/usr/bin/*", "/usr/lib/debug/.build-id/*/*.debug",
		"/usr/aarch64-linux-gnu/lib/*.so*", "/usr/local/go/bin/*", "/usr/local/go/pkg/tool/*/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 150 {
			rand.Shuffle(len(found), func(i, j int) { found[i], found[j] = found[j], found[i] })
			found = found[:150]
		}
		paths = append(paths, found...)
	}
	paths = append(paths, buildC(t), buildC(t, "-s"), buildC(t, "-static", "-rdynamic"))
	compared, named := 0, 0
	for _, path := range paths {
		whole, few := openPath(t, path), openPath(t, path)
		if whole == nil || few == nil {
			continue
		}
		compared++
		offsets := placesOf(whole)
		_ = few.Prepare(offsets) // what can't be read has no names in either way
		if _, unpacks := few.image.Section(".gnu_debugdata"); !unpacks && few.symbols != nil && len(whole.symbols.entries) > 10_000 {
			t.Errorf("%s: the tables were loaded", path)
		}
		for _, offset := range offsets {
			want, wanted := whole.Lookup(offset)
			got, ok := few.Lookup(offset)
			if got != want || ok != wanted {
				t.Fatalf("%s: Lookup(%#x) = %+v, %v; with whole tables %+v, %v", path, offset, got, ok, want, wanted)
			}
			if ok {
				named++
			}
		}
	}
	if compared < 10 || named < 1000 {
		t.Errorf("compared %d files and %d names", compared, named)
	}
	t.Logf("%d files, %d names", compared, named)
}

// TestManyCallsLoadTheTables asks a File again and again.
func TestManyCallsLoadTheTables(t *testing.T) {
	f := openPath(t, buildC(t))
	for i := range 2 * maxPrepared {
		if err := f.Prepare([]uint64{uint64(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if f.symbols == nil {
		t.Error("no table was loaded")
	}
}

func BenchmarkPrepare(b *testing.B) {
	path := "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"
	f := openPath(b, path)
	if f == nil {
		b.Skipf("no %s", path)
	}
	offsets := placesOf(f)[:100]
	b.ReportAllocs()
	for b.Loop() {
		few := &File{image: f.image, opts: f.opts}
		if err := few.Prepare(offsets); err != nil {
			b.Fatal(err)
		}
		few.Close()
	}
}

func BenchmarkWholeTables(b *testing.B) {
	path := "/usr/lib/x86_64-linux-gnu/libstdc++.so.6"
	f := openPath(b, path)
	if f == nil {
		b.Skipf("no %s", path)
	}
	b.ReportAllocs()
	for b.Loop() {
		whole := &File{image: f.image, opts: f.opts}
		if err := whole.Load(); err != nil {
			b.Fatal(err)
		}
		whole.Close()
	}
}
