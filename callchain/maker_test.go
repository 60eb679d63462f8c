package callchain

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"

	"github.com/ringtap/ringtap/internal/object/callframe"
	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// maker makes a Table of functions that a test describes.
type maker struct {
	builder
	table *Table
	begun bool
}

func newMaker(arch Arch) *maker { return &maker{table: &Table{arch: arch}} }

// begin begins the function from lo up to hi, behind the one before.
func (m *maker) begin(lo, hi uint64) {
	m.end()
	m.reset(m.table.arch, lo, hi)
	m.begun = true
}

func (m *maker) end() {
	if m.begun {
		m.table.units = append(m.table.units, unit{m.lo, m.hi, m.builder.finish()})
	}
}

func (m *maker) finish() *Table {
	m.end()
	return m.table
}

// fuzzFile is the table of a file that consists of one executable segment and, if
// there are bytes for it, a section of that name at 0x400000.
func fuzzFile(arch Arch, section string, data []byte) *Table {
	m := &elfimage.Image{Order: binary.LittleEndian, Is64: true, Reader: bytes.NewReader(data), Size: int64(len(data)),
		Segments: []elf.ProgHeader{{Type: elf.PT_LOAD, Flags: elf.PF_X, Filesz: 1 << 40, Memsz: 1 << 40}}}
	if data != nil {
		m.Sections = []elf.SectionHeader{{Name: section, Type: elf.SHT_PROGBITS, Addr: 0x400000, Size: uint64(len(data))}}
	}
	return &Table{arch: arch, file: m, code: codeSegments(m)}
}

// compileFrames opens the .eh_frame of a file that is mapped as it is; nil if it
// describes nothing.
func compileFrames(t testing.TB, data []byte) *Table {
	t.Helper()
	table := fuzzFile(AMD64, ".eh_frame", data)
	if err := table.open(); err != nil {
		t.Fatal(err)
	}
	if table.empty() {
		return nil
	}
	return table
}

// compileAll makes the rows of every function of the table's sections.
func compileAll(t *Table) {
	for _, s := range []*callframe.Section{t.eh, t.debug} {
		for i := range sectionLen(s) {
			if f, ok := s.At(i); ok {
				if f, ok := t.place(function{}, f.Start, f.End); ok {
					t.find(f.start)
					t.find(f.end - 1)
				}
			}
		}
	}
	if t.golang != nil {
		for i := range t.golang.Len {
			if f, ok := t.place(function{}, t.golang.Entry(i), t.golang.Entry(i)+1); ok {
				t.find(f.start)
			}
		}
	}
}

func sectionLen(s *callframe.Section) int {
	if s == nil {
		return 0
	}
	return s.Len()
}
