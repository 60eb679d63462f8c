package buildid

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// Limits of the notes that are searched.
const (
	maxNotes = 64 << 10 // bytes of one note segment or section
	maxID    = 64       // bytes; GNU's are 8, 16 or 20
)

// ErrNone is returned for an ELF file or a kernel that has no build id.
var ErrNone = errors.New("no build id")

// Of returns the build id of an ELF file of at most size bytes. The error is ErrNone if the file
// has none, and that of elfimage.New if its headers cannot be read.
func Of(r io.ReaderAt, size int64) ([]byte, error) {
	m, err := elfimage.New(r, size)
	if err != nil {
		return nil, err
	}
	if id := OfImage(m); id != nil {
		return id, nil
	}
	return nil, ErrNone
}

// OfImage returns the build id of an ELF file, or nil. The caller owns it.
func OfImage(m *elfimage.Image) []byte {
	for i := range m.Segments {
		if s := &m.Segments[i]; s.Type == elf.PT_NOTE {
			if id := read(m, s.Off, s.Filesz); id != nil {
				return id
			}
		}
	}
	// Kernel modules have no segments.
	for i := range m.Sections {
		if s := &m.Sections[i]; s.Type == elf.SHT_NOTE {
			if id := read(m, s.Offset, s.Size); id != nil {
				return id
			}
		}
	}
	return nil
}

func read(m *elfimage.Image, off, size uint64) []byte {
	notes, err := m.Read(off, size, maxNotes)
	if err != nil {
		return nil
	}
	return find(notes, m.Order)
}

// Kernel returns the build id of the running kernel, from /sys/kernel/notes.
func Kernel() ([]byte, error) {
	notes, err := os.ReadFile("/sys/kernel/notes")
	if err != nil {
		return nil, fmt.Errorf("read the kernel's build id: %w", err)
	}
	if id := find(notes, binary.NativeEndian); id != nil {
		return id, nil
	}
	return nil, fmt.Errorf("/sys/kernel/notes: %w", ErrNone)
}

// find returns the descriptor of the first NT_GNU_BUILD_ID note, or nil. A note is three words
// (length of its name, length of its descriptor, type), the name and the descriptor (elf(5)).
// Both are padded to four bytes; the kernel and binutils do so in 64-bit files as well.
func find(notes []byte, order binary.ByteOrder) []byte {
	const buildID = 3 // NT_GNU_BUILD_ID
	for len(notes) >= 12 {
		name, size := uint64(order.Uint32(notes)), uint64(order.Uint32(notes[4:]))
		kind := order.Uint32(notes[8:])
		notes = notes[12:]
		start := (name + 3) &^ 3
		end := start + size
		if end > uint64(len(notes)) {
			return nil
		}
		if kind == buildID && string(notes[:name]) == "GNU\x00" && 0 < size && size <= maxID {
			return bytes.Clone(notes[start:end])
		}
		notes = notes[min((end+3)&^3, uint64(len(notes))):]
	}
	return nil
}

// Equal reports whether two build ids are the same. It ignores zeros at the end: perf before 5.12
// does not record the size of a build id and pads it with zeros. An empty build id is unknown, so it
// equals no other.
func Equal(a, b []byte) bool {
	a = bytes.TrimRight(a, "\x00")
	return len(a) > 0 && bytes.Equal(a, bytes.TrimRight(b, "\x00"))
}
