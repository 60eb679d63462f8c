package gotable

import (
	"debug/elf"
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// Bounds for untrusted files.
const (
	maxTable      = 512 << 20 // bytes of a table, or of the data searched for it
	maxCandidates = 4         // places that look like a table
)

// ErrNone is returned by Open if nothing in a file looks like a table.
var ErrNone = errors.New("no Go function table")

// Open finds the table of a file, and the start of the code that it describes. The table's
// bytes are read from m on demand.
//
// Open searches, in this order: a section for the table; .data.rel.ro, where external linking
// of a position-independent program puts it; in a file without sections, all segments.
func Open(m *elfimage.Image) (*Table, error) {
	var found *Table
	failed := ErrNone
	candidates := 0
	for _, p := range places(m) {
		err := scan(m, p, 8, func(off uint64, b []byte) bool {
			if !isHeader(b, m.Order) {
				return false
			}
			var err error
			if found, err = open(m, p, off); err != nil {
				failed = err
			}
			candidates++
			return err == nil || candidates == maxCandidates
		})
		if found != nil {
			return found, nil
		}
		if err != nil {
			failed = fmt.Errorf("look for the Go function table: %w", err)
		}
		if candidates == maxCandidates {
			break
		}
	}
	return nil, failed
}

// open reads the table at an offset in p.
func open(m *elfimage.Image, p place, off uint64) (*Table, error) {
	addr := p.vaddr + (off - p.offset)
	t, err := divide(m, addr, &data{image: m, offset: off, size: min(p.size-(off-p.offset), maxTable)})
	if err == nil && t.relative() {
		err = t.locate()
	}
	if err != nil {
		return nil, fmt.Errorf("function table of Go at %#x: %w", addr, err)
	}
	return t, nil
}

// place is a part of the file, with its address in memory.
type place struct{ offset, size, vaddr uint64 }

// places returns the places that Open searches.
func places(m *elfimage.Image) []place {
	if len(m.Sections) == 0 {
		return segments(m, func(f elf.ProgFlag) bool { return f&elf.PF_X == 0 || f&elf.PF_W == 0 })
	}
	if named := sections(m, ".gopclntab", ".data.rel.ro.gopclntab"); len(named) > 0 {
		return named
	}
	if len(sections(m, ".go.buildinfo", ".note.go.buildid")) > 0 {
		return sections(m, ".data.rel.ro", ".rodata")
	}
	return nil // not from the Go linker
}

func sections(m *elfimage.Image, names ...string) (in []place) {
	for _, name := range names {
		if s, ok := m.Section(name); ok && s.Flags&elf.SHF_COMPRESSED == 0 {
			in = append(in, place{s.Offset, min(s.Size, maxTable), s.Addr})
		}
	}
	return in
}

func segments(m *elfimage.Image, want func(elf.ProgFlag) bool) (in []place) {
	left := uint64(maxTable) // of all segments together: in a crafted file thousands may share the same bytes
	for i := range m.Segments {
		if s := &m.Segments[i]; s.Type == elf.PT_LOAD && want(s.Flags) {
			size := min(s.Filesz, left)
			in = append(in, place{s.Off, size, s.Vaddr})
			left -= size
		}
	}
	return in
}

// scan calls match for every address in p that is a multiple of step, with the file offset and
// the 16 bytes there, until match returns true.
func scan(m *elfimage.Image, p place, step uint64, match func(off uint64, b []byte) bool) error {
	const look = 16
	if err := m.CheckHoles(p.offset, p.size); err != nil {
		return err
	}
	chunk := uint64(page) // usually the table is in the first chunk
	for done := -p.vaddr % step; done+look <= p.size; done, chunk = done+chunk, 1<<20 {
		b, err := m.Read(p.offset+done, min(chunk+look, p.size-done), chunk+look)
		if err != nil {
			return err
		}
		for i := uint64(0); i < chunk && i+look <= uint64(len(b)); i += step {
			if match(p.offset+done+i, b[i:i+look]) {
				return nil
			}
		}
	}
	return nil
}

// IsGo reports whether the file has a section made by Go's linker.
func IsGo(m *elfimage.Image) bool {
	for _, name := range []string{".gopclntab", ".note.go.buildid", ".go.buildinfo", ".data.rel.ro.gopclntab"} {
		if _, ok := m.Section(name); ok {
			return true
		}
	}
	return false
}
