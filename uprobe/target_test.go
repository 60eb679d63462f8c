package uprobe

import (
	"debug/elf"
	"errors"
	"testing"

	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/object/elfimage"
)

func TestAFileIsTruncatedOnlyWhereItsSegmentsHaveBytes(t *testing.T) {
	code := elf.ProgHeader{Type: elf.PT_LOAD, Flags: elf.PF_R | elf.PF_X, Filesz: 0x600, Memsz: 0x600}
	for _, test := range []struct {
		name string
		more elf.ProgHeader
		want error
	}{
		// Linkers of arm64 put a .bss alone behind the file's end.
		{"zeros alone", elf.ProgHeader{Type: elf.PT_LOAD, Flags: elf.PF_W, Off: 0xfff0, Memsz: 0x10400}, nil},
		{"data", elf.ProgHeader{Type: elf.PT_LOAD, Flags: elf.PF_W, Off: 0xfff0, Filesz: 1, Memsz: 0x10400}, ErrTruncated},
		{"notes", elf.ProgHeader{Type: elf.PT_NOTE, Off: 0xfff0, Filesz: 1}, nil},
	} {
		image := &elfimage.Image{Machine: arch.Here.ELF, Is64: true, Size: 0xc80, Segments: []elf.ProgHeader{code, test.more}}
		if err := checkCode(image); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}
