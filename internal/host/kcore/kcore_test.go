package kcore

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ringtap/ringtap/internal/testkit/fuzzing"
)

// core returns a core file with segments of memory at some addresses.
func core(kind elf.Type, memory map[uint64]string, order ...uint64) []byte {
	var b bytes.Buffer
	head := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1},
		Type:  uint16(kind), Machine: uint16(elf.EM_X86_64), Version: 1,
		Phoff: 64, Ehsize: 64, Phentsize: 56, Phnum: uint16(len(order)),
	}
	binary.Write(&b, binary.LittleEndian, head)
	offset := uint64(64 + 56*len(order))
	for _, address := range order {
		size := uint64(len(memory[address]))
		binary.Write(&b, binary.LittleEndian, elf.Prog64{Type: uint32(elf.PT_LOAD), Off: offset, Vaddr: address, Filesz: size, Memsz: size})
		offset += size
	}
	for _, address := range order {
		b.WriteString(memory[address])
	}
	return b.Bytes()
}

// write writes a file and returns its name.
func write(t *testing.T, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "kcore")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestMemoryIsReadByItsAddress(t *testing.T) {
	const text, direct = 0xffffffff81000000, 0xffff888000000000
	file := write(t, core(elf.ET_CORE, map[uint64]string{text: "instructions", text + 12: " and data", direct: "pages"}, text+12, text, direct))
	r, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	tests := []struct {
		name    string
		address uint64
		size    int
		want    string
	}{
		{"from the start of a segment", text, 5, "instr"},
		{"from its middle", text + 2, 3, "str"},
		{"the end of another", direct + 3, 2, "es"},
		{"from one segment to the next", text + 8, 9, "ions and "},
		{"as far as there is memory", direct + 3, 100, "es"},
		{"where there is none", text - 1, 4, ""},
		{"at the end of all addresses", ^uint64(0), 4, ""},
		{"of no size", 0, 0, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := make([]byte, test.size)
			n, err := r.ReadAt(b, test.address)
			if string(b[:n]) != test.want || (err == nil) != (n == test.size) {
				t.Errorf("%q, %v; want %q", b[:n], err, test.want)
			}
		})
	}
}

func TestOpenSaysWhatIsNotTheKernelsMemory(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "kcore")); !errors.Is(err, ErrNone) {
		t.Errorf("no file: %v", err)
	}
	if _, err := Open(write(t, []byte("no ELF file"))); err == nil {
		t.Error("a text is taken for a core file")
	}
	if _, err := Open(write(t, core(elf.ET_EXEC, nil))); err == nil {
		t.Error("a program is taken for a core file")
	}
}

func FuzzParse(f *testing.F) {
	fuzzing.Bound(f)
	f.Add(core(elf.ET_CORE, map[uint64]string{0xffff888000000000: "pages"}, 0xffff888000000000))
	f.Fuzz(func(t *testing.T, content []byte) {
		segments, err := parse(bytes.NewReader(content))
		if err != nil {
			return
		}
		for _, s := range segments {
			if s.size == 0 || s.address+s.size-1 < s.address || s.offset < 0 || s.offset+int64(s.size) < s.offset {
				t.Errorf("segment %+v", s)
			}
		}
	})
}
