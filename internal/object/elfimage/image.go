package elfimage

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits for untrusted files, far above what real files have. Any process can be profiled, and
// with it any file.
const (
	maxSegments     = 1 << 12
	maxSections     = 1 << 16
	maxSectionNames = 1 << 22   // bytes of .shstrtab
	maxSectionName  = 16 << 10  // bytes of one name; longer names are cut
	maxTable        = 512 << 20 // bytes of one section read into memory
)

// ErrNotELF is wrapped by New's error if a file does not start like an ELF file.
var ErrNotELF = errors.New("not an ELF file")

// Image holds an ELF file's headers and its reader. It does not change after New, so goroutines
// may share it if they may share the reader.
type Image struct {
	Reader   io.ReaderAt
	Size     int64 // in bytes; an upper bound if the size is unknown
	Order    binary.ByteOrder
	Is64     bool
	Machine  elf.Machine
	Entry    uint64              // virtual address of the first instruction, 0 if none
	Segments []elf.ProgHeader    // without segments that overflow, in memory or in the file
	Sections []elf.SectionHeader // FileSize and Addralign are not set
}

// New reads the ELF header, the program headers and the section headers (gABI chapters 4 and 5)
// of a file of at most size bytes. Section headers that can't be read are left out without an
// error: the loader does not need them either.
func New(r io.ReaderAt, size int64) (*Image, error) {
	m := &Image{Reader: r, Size: size}
	var ident [64]byte
	n, err := r.ReadAt(ident[:], 0)
	if n < 52 || string(ident[:4]) != elf.ELFMAG {
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("read ELF header: %w", err)
		}
		return nil, ErrNotELF
	}
	switch elf.Data(ident[elf.EI_DATA]) {
	case elf.ELFDATA2LSB:
		m.Order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		m.Order = binary.BigEndian
	default:
		return nil, fmt.Errorf("unknown byte order %d: %w", ident[elf.EI_DATA], ErrNotELF)
	}
	var h fileHeader
	switch elf.Class(ident[elf.EI_CLASS]) {
	case elf.ELFCLASS64:
		if n < 64 {
			return nil, ErrNotELF
		}
		m.Is64 = true
		h = m.header64(ident[:])
	case elf.ELFCLASS32:
		h = m.header32(ident[:])
	default:
		return nil, fmt.Errorf("unknown class %d: %w", ident[elf.EI_CLASS], ErrNotELF)
	}
	m.Machine = elf.Machine(m.Order.Uint16(ident[18:]))
	m.Entry = h.entry
	m.readSections(&h)
	if err := m.readSegments(&h); err != nil {
		return nil, err
	}
	return m, nil
}

// Section returns the first section with that name that has bytes in the file.
func (m *Image) Section(name string) (*elf.SectionHeader, bool) {
	for i := range m.Sections {
		s := &m.Sections[i]
		if s.Name == name && s.Type != elf.SHT_NOBITS && s.Type != elf.SHT_NULL {
			return s, true
		}
	}
	return nil, false
}

// SectionOf returns the first section of that type.
func (m *Image) SectionOf(typ elf.SectionType) (*elf.SectionHeader, bool) {
	for i := range m.Sections {
		if m.Sections[i].Type == typ {
			return &m.Sections[i], true
		}
	}
	return nil, false
}
