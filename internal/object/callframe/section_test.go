package callframe

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/testkit/compiled"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// libraries are the shared libraries of this machine.
func libraries(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("/usr/lib/*-linux-gnu/*.so*")
	if err != nil || len(paths) == 0 {
		t.Skipf("this machine keeps no shared libraries in /usr/lib/*-linux-gnu: %v", err)
	}
	return paths
}

func sectionOf(t testing.TB, data []byte) *Section {
	t.Helper()
	m, err := elfimage.New(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := EHFrame(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// withoutHeader is the same section without its search table.
func withoutHeader(t testing.TB, data []byte) *Section {
	t.Helper()
	s := sectionOf(t, data)
	if s != nil {
		s.header = nil
	}
	return s
}

// fdeLine is how readelf prints a function: offset, length, CIE, addresses.
var fdeLine = regexp.MustCompile(`(?m)^[0-9a-f]+ [0-9a-f]+ [0-9a-f]+ FDE cie=[0-9a-f]+ pc=([0-9a-f]+)\.\.([0-9a-f]+)$`)

// readelfRanges are the functions that readelf finds.
func readelfRanges(t *testing.T, path string) [][2]uint64 {
	t.Helper()
	readelf, err := exec.LookPath("readelf")
	if err != nil {
		t.Skip("readelf is missing")
	}
	// It fails after all is printed, where a separate debug file has an empty section.
	out, _ := exec.Command(readelf, "--debug-dump=frames", path).Output()
	var all [][2]uint64
	for _, m := range fdeLine.FindAllSubmatch(out, -1) {
		start, err1 := strconv.ParseUint(string(m[1]), 16, 64)
		end, err2 := strconv.ParseUint(string(m[2]), 16, 64)
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if start != 0 && start < end {
			all = append(all, [2]uint64{start, end})
		}
	}
	return all
}

// TestFindsWhatReadelfLists asks for the first, a middle and the last byte of each
// function, and for the byte behind it.
func TestManyPlacesAreSortedAsFewAre(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var places []place
	for i := range 4 * fewPlaces {
		places = append(places, place{random.Uint64N(1<<20) << (i % 40), uint64(i)})
	}
	want := slices.Clone(places)
	slices.SortStableFunc(want, func(x, y place) int { return cmp.Compare(x.start, y.start) })
	if got := sorted(places); !slices.Equal(got, want) {
		t.Error("they have another order")
	}
}

func TestFindsWhatReadelfLists(t *testing.T) {
	for _, name := range []string{"libc.so.6", "libstdc++.so.6"} {
		out, err := exec.Command("gcc", "-print-file-name="+name).Output()
		if err != nil {
			t.Skipf("gcc is missing: %v", err)
		}
		path := string(bytes.TrimSpace(out))
		data, err := os.ReadFile(path)
		if err != nil {
			t.Skipf("library %s is missing: %v", name, err)
		}
		ranges := readelfRanges(t, path)
		starts := map[uint64]bool{}
		for _, r := range ranges {
			starts[r[0]] = true
		}
		for _, s := range []*Section{sectionOf(t, data), withoutHeader(t, data)} {
			hasHeader := s.header != nil
			if len(ranges) < 1000 || s.Len() != len(ranges) {
				t.Errorf("%s: %d functions, readelf lists %d", path, s.Len(), len(ranges))
			}
			for _, r := range ranges {
				for _, at := range []uint64{r[0], (r[0] + r[1]) / 2, r[1] - 1} {
					if f, ok := s.Find(at); !ok || f.Start != r[0] || f.End != r[1] {
						t.Fatalf("%s: Find(%#x) = %#x to %#x, %v; readelf has %#x to %#x", path, at, f.Start, f.End, ok, r[0], r[1])
					}
				}
				if f, ok := s.Find(r[1]); ok && !starts[r[1]] {
					t.Fatalf("%s: Find(%#x) = %#x to %#x; readelf has nothing there", path, r[1], f.Start, f.End)
				}
			}
			if hasHeader != (s.header != nil) {
				t.Errorf("%s: the search table was given up", path)
			}
		}
	}
}

// TestTheSearchTableAgreesWithTheRecords compares both ways for every library.
func TestTheSearchTableAgreesWithTheRecords(t *testing.T) {
	compared := 0
	for _, path := range libraries(t) {
		data, err := os.ReadFile(path)
		if err != nil || !bytes.HasPrefix(data, []byte(elf.ELFMAG)) || len(data) > 16<<20 {
			continue // a linker script, or too large for a quick test
		}
		found, scanned := sectionOf(t, data), withoutHeader(t, data)
		if found == nil || found.header == nil {
			continue
		}
		compared++
		for i := 0; i < scanned.Len(); i += 97 {
			want, ok := scanned.At(i)
			if !ok {
				continue
			}
			got, ok := found.Find(want.End - 1)
			if !ok || got.Start != want.Start || got.End != want.End || !bytes.Equal(got.Program, want.Program) {
				t.Fatalf("%s: Find(%#x) = %#x to %#x, %v; the record says %#x to %#x", path, want.End-1, got.Start, got.End, ok, want.Start, want.End)
			}
		}
	}
	if compared < 5 {
		t.Errorf("compared %d libraries", compared)
	}
}

// TestAHeaderThatLies damages a search table in the ways that a file can.
func TestAHeaderThatLies(t *testing.T) {
	whole := program(t)
	m, err := elfimage.New(bytes.NewReader(whole), int64(len(whole)))
	if err != nil {
		t.Fatal(err)
	}
	s, ok := m.Section(".eh_frame_hdr")
	if !ok {
		t.Fatal("the program has no .eh_frame_hdr")
	}
	const countAt, tableAt = 8, 12
	for name, damage := range map[string]func(head []byte){
		"no table":        func(head []byte) { head[3] = encOmit },
		"empty":           func(head []byte) { binary.LittleEndian.PutUint32(head[countAt:], 0) },
		"too many":        func(head []byte) { binary.LittleEndian.PutUint32(head[countAt:], 1<<31) },
		"one left":        func(head []byte) { binary.LittleEndian.PutUint32(head[countAt:], 1) },
		"other version":   func(head []byte) { head[0] = 7 },
		"all at one":      func(head []byte) { fill(head[tableAt:], head[tableAt:tableAt+8]) },
		"zeros":           func(head []byte) { fill(head[tableAt:], make([]byte, 8)) },
		"far away":        func(head []byte) { fill(head[tableAt:], []byte{0, 0, 0, 0x80, 0, 0, 0, 0x80}) },
		"records shifted": func(head []byte) { copy(head[tableAt+4:], head[tableAt+8:]) },
	} {
		data := bytes.Clone(whole)
		damage(data[s.Offset:][:s.Size])
		damaged, scanned := sectionOf(t, data), withoutHeader(t, whole)
		for i := range scanned.Len() {
			want, ok := scanned.At(i)
			if !ok {
				continue
			}
			if got, ok := damaged.Find(want.Start); !ok || got.Start != want.Start || got.End != want.End {
				t.Errorf("%s: Find(%#x) = %#x to %#x, %v; want the function to %#x", name, want.Start, got.Start, got.End, ok, want.End)
			}
		}
	}
}

func fill(to, with []byte) {
	for len(to) >= len(with) {
		to = to[copy(to, with):]
	}
}

// program is a small file with a search table.
func program(t testing.TB) []byte {
	t.Helper()
	path := compiled.Program(t, map[string]string{"p.c": "int f(int n) { return n < 2 ? n : f(n - 1) * f(n - 2) + 1; }\n" +
		"int main(int c, char **v) { return f(c) + f(c + 1); }\n"}, "gcc", "-O1", "-o", "p", "p.c")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func FuzzSection(f *testing.F) {
	fuzzing.Bound(f)
	for _, arch := range []string{"amd64", "arm64"} {
		data, err := os.ReadFile("../../../callchain/testdata/bare." + arch + ".elf")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := elfimage.New(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		for _, open := range []func(*elfimage.Image) (*Section, error){EHFrame, DebugFrame} {
			s, err := open(m)
			if s == nil || err != nil {
				continue
			}
			for range 32 {
				at := rand.Uint64N(1 << 23)
				if fn, ok := s.Find(at); ok && (at < fn.Start || at >= fn.End) {
					t.Fatalf("Find(%#x) = %#x to %#x", at, fn.Start, fn.End)
				}
			}
			for i := range min(s.Len(), 1000) {
				s.At(i)
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	for _, path := range []string{"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib/aarch64-linux-gnu/libstdc++.so.6"} {
		file, err := os.Open(path)
		if err != nil {
			continue
		}
		defer file.Close()
		info, err := file.Stat()
		if err != nil {
			b.Fatal(err)
		}
		m, err := elfimage.New(file, info.Size())
		if err != nil {
			b.Fatal(err)
		}
		s, err := EHFrame(m)
		if err != nil {
			b.Fatal(err)
		}
		n := s.Len()
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if f, ok := s.At(i * 7919 % n); ok {
				if _, ok := s.Find(f.Start); !ok {
					b.Fatal("not found")
				}
			}
		}
		return
	}
	b.Skip("no libstdc++ in the usual place")
}
