package elfimage

import (
	"bytes"
	"debug/elf"
	"fmt"
)

// fileHeader holds the fields of an ELF header, of either class, that New needs.
type fileHeader struct {
	entry            uint64
	phoff, shoff     uint64
	phentsize, phnum int
	shentsize, shnum int
	shstrndx         int
	phSize, shSize   int // sizes of program and section headers in this class
}

func (m *Image) header64(b []byte) fileHeader {
	u16 := func(off int) int { return int(m.Order.Uint16(b[off:])) }
	return fileHeader{
		entry: m.Order.Uint64(b[24:]),
		phoff: m.Order.Uint64(b[32:]), shoff: m.Order.Uint64(b[40:]),
		phentsize: u16(54), phnum: u16(56), shentsize: u16(58), shnum: u16(60), shstrndx: u16(62),
		phSize: 56, shSize: 64,
	}
}

func (m *Image) header32(b []byte) fileHeader {
	u16 := func(off int) int { return int(m.Order.Uint16(b[off:])) }
	u32 := func(off int) uint64 { return uint64(m.Order.Uint32(b[off:])) }
	return fileHeader{
		entry: u32(24),
		phoff: u32(28), shoff: u32(32),
		phentsize: u16(42), phnum: u16(44), shentsize: u16(46), shnum: u16(48), shstrndx: u16(50),
		phSize: 32, shSize: 40,
	}
}

func (m *Image) readSegments(h *fileHeader) error {
	if h.phnum == 0xffff && len(m.Sections) > 0 { // PN_XNUM: the number is in section 0
		h.phnum = int(m.Sections[0].Info)
	}
	if h.phnum == 0 {
		return nil
	}
	if h.phnum > maxSegments || h.phentsize < h.phSize {
		return fmt.Errorf("%d program headers of %d bytes: malformed", h.phnum, h.phentsize)
	}
	b, err := m.Read(h.phoff, uint64(h.phnum)*uint64(h.phentsize), maxSegments*1024)
	if err != nil {
		return fmt.Errorf("read program headers: %w", err)
	}
	m.Segments = make([]elf.ProgHeader, 0, h.phnum)
	for ; len(b) >= h.phentsize; b = b[h.phentsize:] {
		s := elf.ProgHeader{Type: elf.ProgType(m.Order.Uint32(b))}
		if m.Is64 {
			s.Flags = elf.ProgFlag(m.Order.Uint32(b[4:]))
			s.Off, s.Vaddr = m.Order.Uint64(b[8:]), m.Order.Uint64(b[16:])
			s.Filesz, s.Memsz = m.Order.Uint64(b[32:]), m.Order.Uint64(b[40:])
		} else {
			s.Flags = elf.ProgFlag(m.Order.Uint32(b[24:]))
			s.Off, s.Vaddr = uint64(m.Order.Uint32(b[4:])), uint64(m.Order.Uint32(b[8:]))
			s.Filesz, s.Memsz = uint64(m.Order.Uint32(b[16:])), uint64(m.Order.Uint32(b[20:]))
		}
		if s.Vaddr+s.Memsz < s.Vaddr || int64(s.Off) < 0 || int64(s.Off+s.Filesz) < int64(s.Off) {
			continue
		}
		m.Segments = append(m.Segments, s)
	}
	return nil
}

func (m *Image) readSections(h *fileHeader) {
	if h.shoff == 0 || h.shentsize < h.shSize {
		return
	}
	if h.shnum == 0 || h.shstrndx == int(elf.SHN_XINDEX) { // the real numbers are in section 0
		b, err := m.Read(h.shoff, uint64(h.shSize), maxTable)
		if err != nil {
			return
		}
		zero, _ := m.sectionHeader(b)
		if h.shnum == 0 && zero.Size <= maxSections {
			h.shnum = int(zero.Size)
		}
		if h.shstrndx == int(elf.SHN_XINDEX) {
			h.shstrndx = int(zero.Link)
		}
	}
	if h.shnum > maxSections {
		return
	}
	b, err := m.Read(h.shoff, uint64(h.shnum)*uint64(h.shentsize), maxTable)
	if err != nil {
		return
	}
	sections := make([]elf.SectionHeader, 0, h.shnum)
	names := make([]uint32, 0, h.shnum)
	for ; len(b) >= h.shentsize && h.shentsize > 0; b = b[h.shentsize:] {
		s, name := m.sectionHeader(b)
		sections = append(sections, s)
		names = append(names, name)
	}
	m.Sections = sections
	if h.shstrndx >= len(sections) {
		return
	}
	strtab, err := m.Read(sections[h.shstrndx].Offset, sections[h.shstrndx].Size, maxSectionNames)
	if err != nil {
		return
	}
	left := maxSectionNames // in a crafted file thousands of sections may share one name of kilobytes
	for i, name := range names {
		text := sectionName(strtab, name)
		if left -= len(text); left < 0 {
			return
		}
		sections[i].Name = text
	}
}

// sectionHeader decodes one section header. It returns the name's offset separately.
func (m *Image) sectionHeader(b []byte) (s elf.SectionHeader, name uint32) {
	name, s.Type = m.Order.Uint32(b), elf.SectionType(m.Order.Uint32(b[4:]))
	if m.Is64 {
		s.Flags = elf.SectionFlag(m.Order.Uint64(b[8:]))
		s.Addr, s.Offset, s.Size = m.Order.Uint64(b[16:]), m.Order.Uint64(b[24:]), m.Order.Uint64(b[32:])
		s.Link, s.Info, s.Entsize = m.Order.Uint32(b[40:]), m.Order.Uint32(b[44:]), m.Order.Uint64(b[56:])
		return s, name
	}
	s.Flags = elf.SectionFlag(m.Order.Uint32(b[8:]))
	s.Addr, s.Offset = uint64(m.Order.Uint32(b[12:])), uint64(m.Order.Uint32(b[16:]))
	s.Size = uint64(m.Order.Uint32(b[20:]))
	s.Link, s.Info, s.Entsize = m.Order.Uint32(b[24:]), m.Order.Uint32(b[28:]), uint64(m.Order.Uint32(b[36:]))
	return s, name
}

func sectionName(strtab []byte, off uint32) string {
	name := strtab[min(uint64(off), uint64(len(strtab))):]
	name, _, _ = bytes.Cut(name[:min(len(name), maxSectionName)], []byte{0})
	return string(name)
}
