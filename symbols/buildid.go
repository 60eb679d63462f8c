package symbols

import (
	"debug/elf"
	"encoding/hex"
	"fmt"
)

// Limits of the notes that are read for the build id.
const (
	maxNotes   = 64 << 10 // bytes of one note segment or section
	maxBuildID = 64       // bytes; GNU's are 8, 16 or 20
)

// ntGNUBuildID is NT_GNU_BUILD_ID of <elf.h>.
const ntGNUBuildID = 3

// buildID returns the bytes of the GNU build id note, or nil.
func (m *image) buildID() []byte {
	for i := range m.segments {
		s := &m.segments[i]
		if s.typ != elf.PT_NOTE {
			continue
		}
		if b, err := m.read(s.offset, s.filesz, maxNotes); err == nil {
			if id := m.findBuildID(b); id != nil {
				return id
			}
		}
	}
	for i := range m.sections {
		s := &m.sections[i]
		if s.typ != elf.SHT_NOTE {
			continue
		}
		if b, err := m.read(s.offset, s.size, maxNotes); err == nil {
			if id := m.findBuildID(b); id != nil {
				return id
			}
		}
	}
	return nil
}

// findBuildID walks the notes in b. Names and descriptions are padded to four
// bytes (gABI, chapter 5, "Note Section"); the kernel and binutils do so in
// 64-bit files as well.
func (m *image) findBuildID(b []byte) []byte {
	for len(b) >= 12 {
		namesz, descsz := uint64(m.order.Uint32(b)), uint64(m.order.Uint32(b[4:]))
		typ := m.order.Uint32(b[8:])
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
	return hex.EncodeToString(f.image.buildID())
}

type errNotMapped uint64

func (e errNotMapped) Error() string {
	return fmt.Sprintf("address %#x is in no segment of the file", uint64(e))
}
