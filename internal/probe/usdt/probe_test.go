package usdt

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"runtime"
	"testing"

	"github.com/ringtap/ringtap/internal/object/elfimage"
	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

func TestEachMarkOfAProgramIsAProbe(t *testing.T) {
	for _, program := range programs {
		path := compile(t, "prog.c", program.flags...)
		img := image(t, path)
		probes, err := Read(img)
		if err != nil {
			t.Errorf("%s: %v", program.name, err)
		}
		for name, count := range map[string]int{
			"prog:registers": 1, "prog:immediates": 1, "prog:memory": 1, "prog:none": 1, "prog:guarded": 1, "prog:twice": 2,
		} {
			if got := named(probes, name); len(got) != count {
				t.Errorf("%s: %d probes %s; want %d", program.name, len(got), name, count)
			}
		}
		file, err := elf.Open(path)
		must(t, err)
		defer file.Close()
		for _, p := range probes {
			checkMark(t, program.name, img, file, p)
		}
	}
}

// checkMark checks that there is a nop where the probe is and, where there is a
// semaphore, that the symbol table has a variable of that name there.
func checkMark(t *testing.T, program string, img *elfimage.Image, file *elf.File, p Probe) {
	t.Helper()
	nop := []byte{0x90}
	if file.Machine == elf.EM_AARCH64 {
		nop = []byte{0x1f, 0x20, 0x03, 0xd5}
	}
	code := make([]byte, len(nop))
	if _, err := img.Reader.ReadAt(code, int64(p.Location)); err != nil || !bytes.Equal(code, nop) {
		t.Errorf("%s, %s: % x at offset %#x (%v); want a nop", program, p, code, p.Location, err)
	}
	if p.Sem != (p.Name == "guarded") {
		t.Errorf("%s, %s: semaphore %t", program, p, p.Sem)
	}
	if !p.Sem {
		return
	}
	list, err := file.Symbols()
	must(t, err)
	for _, s := range list {
		if s.Name != "prog_guarded_semaphore" {
			continue
		}
		section := file.Sections[s.Section]
		if want := s.Value - section.Addr + section.Offset; p.Semaphore != want {
			t.Errorf("%s, %s: semaphore at %#x; want %#x", program, p, p.Semaphore, want)
		}
		return
	}
	t.Errorf("%s has no symbol for the semaphore", program)
}

func TestA32BitProgramIsRead(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("gcc -m32 is for amd64")
	}
	probes, err := Read(image(t, compile(t, "small.c", "-m32", "-nostdlib", "-static", "-fno-pie")))
	must(t, err)
	one := named(probes, "small:one")
	if len(probes) != 2 || len(one) != 1 || !one[0].Sem {
		t.Fatalf("%+v", probes)
	}
	args, err := one[0].FetchArgs(elf.EM_386)
	if err != nil || len(args) != 2 || args[1].String() != `arg2=\3:u32` {
		t.Errorf("%v, %v", args, err)
	}
}

// TestProbesMoveWithTheirBase reads a program whose notes say that all of it was
// elsewhere when they were written, as after prelink(8).
func TestProbesMoveWithTheirBase(t *testing.T) {
	path := compile(t, "prog.c", "-O2")
	want, err := Read(image(t, path))
	must(t, err)
	b, err := os.ReadFile(path)
	must(t, err)
	section, ok := image(t, path).Section(noteSection)
	if !ok {
		t.Fatal("no notes")
	}
	const moved = 0x30000
	for at := section.Offset; at < section.Offset+section.Size; {
		desc := at + 12 + padded(uint64(binary.LittleEndian.Uint32(b[at:])))
		for field := desc; field < desc+24; field += 8 {
			if addr := binary.LittleEndian.Uint64(b[field:]); addr != 0 {
				binary.LittleEndian.PutUint64(b[field:], addr-moved)
			}
		}
		at = desc + padded(uint64(binary.LittleEndian.Uint32(b[at+4:])))
	}
	img, err := elfimage.New(bytes.NewReader(b), int64(len(b)))
	must(t, err)
	got, err := Read(img)
	must(t, err)
	for i := range want {
		if got[i].Location != want[i].Location || got[i].Semaphore != want[i].Semaphore || got[i].Name != want[i].Name {
			t.Errorf("%+v; want %+v", got[i], want[i])
		}
	}
}

func TestAFileWithoutNotesHasNoProbes(t *testing.T) {
	probes, err := Read(&elfimage.Image{Reader: bytes.NewReader(nil), Order: binary.LittleEndian})
	if len(probes) != 0 || err != nil {
		t.Errorf("%v, %v", probes, err)
	}
}

func TestABrokenNoteDoesNotHideTheOthers(t *testing.T) {
	path := compile(t, "prog.c", "-O2")
	b, err := os.ReadFile(path)
	must(t, err)
	want, err := Read(image(t, path))
	must(t, err)
	section, _ := image(t, path).Section(noteSection)
	tests := []struct {
		name string
		at   uint64 // of the word that is overwritten, in the first note
		word uint32
		left int // probes that are read all the same
	}{
		{"code where there is none", 20, 1 << 30, len(want) - 1},
		{"a type that is unknown", 8, 4, len(want) - 1},
		{"a size beyond the section", 4, 1 << 31, 0},
		{"a descriptor without strings", 4, 24, 0},
	}
	for _, test := range tests {
		broken := bytes.Clone(b)
		binary.LittleEndian.PutUint32(broken[section.Offset+test.at:], test.word)
		img, err := elfimage.New(bytes.NewReader(broken), int64(len(broken)))
		must(t, err)
		got, err := Read(img)
		if len(got) != test.left {
			t.Errorf("%s: %d probes; want %d", test.name, len(got), test.left)
		}
		if unknown := test.at == 8; errors.Is(err, ErrMalformed) == unknown {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

func TestATruncatedFileIsAnError(t *testing.T) {
	path := compile(t, "prog.c", "-O2")
	img := image(t, path)
	section, _ := img.Section(noteSection)
	cut := int64(section.Offset + section.Size/2)
	img.Reader, img.Size = io.NewSectionReader(img.Reader, 0, cut), cut
	if probes, err := Read(img); err == nil {
		t.Errorf("%d probes without an error", len(probes))
	}
}

func FuzzNotes(f *testing.F) {
	fuzzing.Bound(f)
	img := image(f, "testdata/prog.elf")
	section, _ := img.Section(noteSection)
	b, err := img.Bytes(section)
	must(f, err)
	f.Add(b, true)
	f.Add(b[:len(b)-5], false)
	f.Fuzz(func(t *testing.T, b []byte, is64 bool) {
		img := &elfimage.Image{Order: binary.LittleEndian, Is64: is64}
		for n, err := range notes(img, b) {
			if err != nil && !errors.Is(err, ErrMalformed) {
				t.Errorf("another error: %v", err)
			}
			for _, s := range []string{n.provider, n.name, n.args} {
				if bytes.IndexByte([]byte(s), 0) >= 0 || !bytes.Contains(b, []byte(s)) {
					t.Errorf("%q is no string of the notes", s)
				}
			}
		}
	})
}

// FuzzRead reads programs. Its seeds are small.c and prog.c of testdata, which gcc -O2
// linked so that they are small: -nostartfiles -z noseparate-code -z norelro
// -z max-page-size=64, and small.c -s -static.
func FuzzRead(f *testing.F) {
	fuzzing.Bound(f)
	for _, name := range []string{"small.elf", "small32.elf", "small-arm64.elf", "prog.elf"} {
		b, err := os.ReadFile("testdata/" + name)
		must(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		img, err := elfimage.New(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return
		}
		probes, _ := Read(img)
		for _, p := range probes {
			if p.Location >= uint64(len(b)) || p.Sem && p.Semaphore >= uint64(len(b)) {
				t.Errorf("%+v is not in a file of %d bytes", p, len(b))
			}
			p.FetchArgs(img.Machine)
		}
	})
}
