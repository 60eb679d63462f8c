package symbols

import (
	"debug/elf"
	"encoding/hex"

	"github.com/ringtap/ringtap/internal/elfimage"
)

// Limits of the notes that are read for the build id.
const (
	maxNotes   = 64 << 10 // bytes of one note segment or section
	maxBuildID = 64       // bytes; GNU's are 8, 16 or 20
)

// ntGNUBuildID is NT_GNU_BUILD_ID of <elf.h>.
const ntGNUBuildID = 3

// buildID returns the bytes of the GNU build id note, or nil.
func buildID(m *elfimage.Image) []byte {
	for i := range m.Segments {
		s := &m.Segments[i]
		if s.Type != elf.PT_NOTE {
			continue
		}
		if b, err := m.Read(s.Off, s.Filesz, maxNotes); err == nil {
			if id := findBuildID(m, b); id != nil {
				return id
			}
		}
	}
	for i := range m.Sections {
		s := &m.Sections[i]
		if s.Type != elf.SHT_NOTE {
			continue
		}
		if b, err := m.Read(s.Offset, s.Size, maxNotes); err == nil {
			if id := findBuildID(m, b); id != nil {
				return id
			}
		}
	}
	return nil
}

// findBuildID walks the notes in b. Names and descriptions are padded to four
// bytes (gABI, chapter 5, "Note Section"); the kernel and binutils do so in
// 64-bit files as well.
func findBuildID(m *elfimage.Image, b []byte) []byte {
	for len(b) >= 12 {
		namesz, descsz := uint64(m.Order.Uint32(b)), uint64(m.Order.Uint32(b[4:]))
		typ := m.Order.Uint32(b[8:])
		b = b[12:]
		desc := (namesz + 3) &^ 3
		next := desc + (descsz+3)&^3
		if desc+descsz > uint64(len(b)) {
			return nil
		}
		if typ == ntGNUBuildID && string(b[:namesz]) == "GNU\x00" && descsz > 0 && descsz <= maxBuildID {
			return append([]byte(nil), b[desc:desc+descsz]...)
		}
		if next > uint64(len(b)) {
			return nil
		}
		b = b[next:]
	}
	return nil
}

// BuildID returns the GNU build id in lower-case hexadecimal, as `readelf -n`
// prints it, or "" when the file has none. It reads the notes at each call.
func (f *File) BuildID() string {
	return hex.EncodeToString(buildID(f.image))
}
