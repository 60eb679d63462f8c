package symbols

import (
	"bytes"
	"debug/elf"
	"fmt"
)

// fileHeader is what newImage needs of an ELF header, of either class.
type fileHeader struct {
	entry, phoff, shoff  uint64
	phentsize, phnum     int
	shentsize, shnum     int
	shstrndx             int
	phSize, shSize, word int // sizes of the headers as this class has them
}

func (m *image) header64(b []byte) fileHeader {
	u16 := func(off int) int { return int(m.order.Uint16(b[off:])) }
	return fileHeader{
		entry: m.order.Uint64(b[24:]), phoff: m.order.Uint64(b[32:]), shoff: m.order.Uint64(b[40:]),
		phentsize: u16(54), phnum: u16(56), shentsize: u16(58), shnum: u16(60), shstrndx: u16(62),
		phSize: 56, shSize: 64, word: 8,
	}
}

func (m *image) header32(b []byte) fileHeader {
	u16 := func(off int) int { return int(m.order.Uint16(b[off:])) }
	u32 := func(off int) uint64 { return uint64(m.order.Uint32(b[off:])) }
	return fileHeader{
		entry: u32(24), phoff: u32(28), shoff: u32(32),
		phentsize: u16(42), phnum: u16(44), shentsize: u16(46), shnum: u16(48), shstrndx: u16(50),
		phSize: 32, shSize: 40, word: 4,
	}
}

func (m *image) readSegments(h *fileHeader) error {
	if h.phnum == 0xffff && len(m.sections) > 0 { // PN_XNUM: the number is in section 0
		h.phnum = int(m.sections[0].info)
	}
	if h.phnum == 0 {
		return nil
	}
	if h.phnum > maxSegments || h.phentsize < h.phSize {
		return fmt.Errorf("%d program headers of %d bytes: malformed", h.phnum, h.phentsize)
	}
	b, err := m.read(h.phoff, uint64(h.phnum)*uint64(h.phentsize), maxSegments*1024)
	if err != nil {
		return fmt.Errorf("read program headers: %w", err)
	}
	m.segments = make([]segment, 0, h.phnum)
	for ; len(b) >= h.phentsize; b = b[h.phentsize:] {
		s := segment{typ: elf.ProgType(m.order.Uint32(b))}
		if m.is64 {
			s.flags = elf.ProgFlag(m.order.Uint32(b[4:]))
			s.offset, s.vaddr = m.order.Uint64(b[8:]), m.order.Uint64(b[16:])
			s.filesz, s.memsz = m.order.Uint64(b[32:]), m.order.Uint64(b[40:])
		} else {
			s.flags = elf.ProgFlag(m.order.Uint32(b[24:]))
			s.offset, s.vaddr = uint64(m.order.Uint32(b[4:])), uint64(m.order.Uint32(b[8:]))
			s.filesz, s.memsz = uint64(m.order.Uint32(b[16:])), uint64(m.order.Uint32(b[20:]))
		}
		if s.vaddr+s.memsz < s.vaddr || s.offset+s.filesz < s.offset {
			continue
		}
		m.segments = append(m.segments, s)
	}
	return nil
}

func (m *image) readSections(h *fileHeader) {
	if h.shoff == 0 || h.shentsize < h.shSize {
		return
	}
	if h.shnum == 0 || h.shstrndx == int(elf.SHN_XINDEX) { // the real numbers are in section 0
		b, err := m.read(h.shoff, uint64(h.shSize), maxTable)
		if err != nil {
			return
		}
		zero, _ := m.sectionHeader(b)
		if h.shnum == 0 && zero.size <= maxSections {
			h.shnum = int(zero.size)
		}
		if h.shstrndx == int(elf.SHN_XINDEX) {
			h.shstrndx = int(zero.link)
		}
	}
	if h.shnum > maxSections {
		return
	}
	b, err := m.read(h.shoff, uint64(h.shnum)*uint64(h.shentsize), maxTable)
	if err != nil {
		return
	}
	sections := make([]section, 0, h.shnum)
	names := make([]uint32, 0, h.shnum)
	for ; len(b) >= h.shentsize && h.shentsize > 0; b = b[h.shentsize:] {
		s, name := m.sectionHeader(b)
		sections = append(sections, s)
		names = append(names, name)
	}
	m.sections = sections
	if h.shstrndx >= len(sections) {
		return
	}
	strtab, err := m.read(sections[h.shstrndx].offset, sections[h.shstrndx].size, maxSectionName)
	if err != nil {
		return
	}
	for i, name := range names {
		sections[i].name = cstring(strtab, uint64(name), maxSymbolName)
	}
}

// sectionHeader decodes one header and returns the offset of its name apart.
func (m *image) sectionHeader(b []byte) (s section, name uint32) {
	name, s.typ = m.order.Uint32(b), elf.SectionType(m.order.Uint32(b[4:]))
	if m.is64 {
		s.flags = elf.SectionFlag(m.order.Uint64(b[8:]))
		s.addr, s.offset, s.size = m.order.Uint64(b[16:]), m.order.Uint64(b[24:]), m.order.Uint64(b[32:])
		s.link, s.info, s.entsize = m.order.Uint32(b[40:]), m.order.Uint32(b[44:]), m.order.Uint64(b[56:])
		return s, name
	}
	s.flags = elf.SectionFlag(m.order.Uint32(b[8:]))
	s.addr, s.offset = uint64(m.order.Uint32(b[12:])), uint64(m.order.Uint32(b[16:]))
	s.size = uint64(m.order.Uint32(b[20:]))
	s.link, s.info, s.entsize = m.order.Uint32(b[24:]), m.order.Uint32(b[28:]), uint64(m.order.Uint32(b[36:]))
	return s, name
}

// cstring returns the NUL-terminated string at off, cut at limit bytes, or ""
// when off lies outside.
func cstring(b []byte, off uint64, limit int) string {
	return string(cbytes(b, off, limit))
}

// cbytes is cstring without the copy.
func cbytes(b []byte, off uint64, limit int) []byte {
	if off >= uint64(len(b)) {
		return nil
	}
	b = b[off:]
	if len(b) > limit {
		b = b[:limit]
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return b
}
