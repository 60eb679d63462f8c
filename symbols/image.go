package symbols

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits on what a file may make us hold. They are far above what real files
// have and exist because any process can be profiled, and with it any file.
const (
	maxSegments    = 1 << 12
	maxSections    = 1 << 16
	maxSectionName = 1 << 22   // bytes of .shstrtab
	maxTable       = 512 << 20 // bytes of one section read into memory
)

// ErrNotELF is wrapped by the error of Open for a file that does not begin like
// an ELF file.
var ErrNotELF = errors.New("not an ELF file")

// segment is one program header.
type segment struct {
	typ    elf.ProgType
	flags  elf.ProgFlag
	offset uint64
	vaddr  uint64
	filesz uint64
	memsz  uint64
}

// section is one section header, its name resolved.
type section struct {
	name    string
	typ     elf.SectionType
	flags   elf.SectionFlag
	addr    uint64
	offset  uint64
	size    uint64
	link    uint32
	info    uint32
	entsize uint64
}

// image is the headers of an ELF file over a reader. Reading anything else is
// left to those who need it.
type image struct {
	r        io.ReaderAt
	size     int64
	order    binary.ByteOrder
	is64     bool
	typ      elf.Type
	machine  elf.Machine
	entry    uint64
	segments []segment
	sections []section
}

// newImage reads the ELF header, the program headers and the section headers
// (gABI chapters 4 and 5). Section headers that can't be read are left out
// without an error: the loader does not need them either.
func newImage(r io.ReaderAt, size int64) (*image, error) {
	m := &image{r: r, size: size}
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
		m.order = binary.LittleEndian
	case elf.ELFDATA2MSB:
		m.order = binary.BigEndian
	default:
		return nil, fmt.Errorf("unknown byte order %d: %w", ident[elf.EI_DATA], ErrNotELF)
	}
	var h fileHeader
	switch elf.Class(ident[elf.EI_CLASS]) {
	case elf.ELFCLASS64:
		if n < 64 {
			return nil, ErrNotELF
		}
		m.is64 = true
		h = m.header64(ident[:])
	case elf.ELFCLASS32:
		h = m.header32(ident[:])
	default:
		return nil, fmt.Errorf("unknown class %d: %w", ident[elf.EI_CLASS], ErrNotELF)
	}
	m.typ = elf.Type(m.order.Uint16(ident[16:]))
	m.machine = elf.Machine(m.order.Uint16(ident[18:]))
	m.entry = h.entry
	m.readSections(&h)
	if err := m.readSegments(&h); err != nil {
		return nil, err
	}
	return m, nil
}

// read returns n bytes at off, or an error when the file does not hold them or
// there are more than limit.
func (m *image) read(off, n, limit uint64) ([]byte, error) {
	if n > limit {
		return nil, fmt.Errorf("%d bytes at offset %d: more than the limit of %d", n, off, limit)
	}
	if off > uint64(m.size) || n > uint64(m.size)-off {
		return nil, fmt.Errorf("%d bytes at offset %d: %w", n, off, io.ErrUnexpectedEOF)
	}
	b := make([]byte, n)
	if got, err := m.r.ReadAt(b, int64(off)); uint64(got) < n {
		if err == nil || err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("%d bytes at offset %d: %w", n, off, err)
	}
	return b, nil
}

// section returns the first section of that name that has bytes in the file.
func (m *image) section(name string) (section, bool) {
	for _, s := range m.sections {
		if s.name == name && s.typ != elf.SHT_NOBITS && s.typ != elf.SHT_NULL {
			return s, true
		}
	}
	return section{}, false
}

// sectionOf returns the first section of that type.
func (m *image) sectionOf(typ elf.SectionType) (section, bool) {
	for _, s := range m.sections {
		if s.typ == typ {
			return s, true
		}
	}
	return section{}, false
}

// bytes reads a section that is not compressed.
func (m *image) bytes(s section) ([]byte, error) {
	b, err := m.read(s.offset, s.size, maxTable)
	if err != nil {
		return nil, fmt.Errorf("read section %s: %w", s.name, err)
	}
	return b, nil
}
