package elfimage

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"math"
	"os"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// own is this test's program, which is an ELF file.
func own(t testing.TB) []byte {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Skipf("own program: %v", err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("own program: %v", err)
	}
	return b
}

func TestHeadersAreThoseOfTheStandardLibrary(t *testing.T) {
	b := own(t)
	m, err := New(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	if m.Machine != f.Machine || m.Order != f.ByteOrder || len(m.Sections) != len(f.Sections) || len(m.Segments) != len(f.Progs) {
		t.Fatalf("%v %v, %d sections, %d segments; want %v %v, %d, %d", m.Machine, m.Order, len(m.Sections), len(m.Segments),
			f.Machine, f.ByteOrder, len(f.Sections), len(f.Progs))
	}
	for i, p := range f.Progs {
		want := p.ProgHeader
		want.Paddr, want.Align = 0, 0
		if m.Segments[i] != want {
			t.Errorf("segment %d: %+v, want %+v", i, m.Segments[i], want)
		}
	}
	for i, s := range f.Sections {
		want := s.SectionHeader
		if want.Flags&elf.SHF_COMPRESSED != 0 {
			want.Size = want.FileSize // the standard library tells of what is in it
		}
		want.Addralign, want.FileSize = 0, 0
		if m.Sections[i] != want {
			t.Errorf("section %d: %+v, want %+v", i, m.Sections[i], want)
		}
	}
}

// TestMoreThanTheFileHasIsNotRead asks a file whose size was not told for more
// than any machine has memory.
func TestMoreThanTheFileHasIsNotRead(t *testing.T) {
	m := &Image{Reader: bytes.NewReader(make([]byte, 100)), Size: math.MaxInt64}
	for _, n := range []uint64{101, probed + 1, 1 << 60} {
		if _, err := m.Read(0, n, 1<<60); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d bytes of 100: %v", n, err)
		}
	}
	if b, err := m.Read(0, 100, 100); err != nil || len(b) != 100 {
		t.Errorf("all bytes: %d, %v", len(b), err)
	}
}

// FuzzImage reads headers, sections and what the loader reads. There may be
// errors but no panic, and offsets and addresses must agree.
func FuzzImage(f *testing.F) {
	fuzzing.Bound(f)
	b := own(f)
	f.Add(b[:min(len(b), 8<<10)])
	for _, name := range []string{"tiny.elf", "tiny32.elf", "tiny-dynamic.elf"} {
		b, err := os.ReadFile("../../../symbols/testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := New(bytes.NewReader(data), math.MaxInt64)
		if err != nil {
			return
		}
		for i := range m.Sections {
			m.Bytes(&m.Sections[i])
			if name := m.Sections[i].Name; name != "" && i < 64 {
				if b, _ := m.Uncompressed(name, 1<<16); len(b) > 1<<16 {
					t.Fatalf("section %s has %d bytes", name, len(b))
				}
			}
		}
		m.Relatives(func(where, _ uint64) bool {
			m.BytesAt(where, 8)
			return true
		})
		for i := range m.Segments {
			s := &m.Segments[i]
			if off, ok := m.Offset(s.Vaddr); ok && m.Executable(s.Vaddr) && s.Flags&elf.PF_X != 0 {
				if _, ok := m.Vaddr(off); !ok {
					t.Fatalf("address %#x has the offset %#x, and that none", s.Vaddr, off)
				}
			}
		}
	})
}
