package symbols

import (
	"bytes"
	"debug/elf"
	"fmt"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// versionHidden is set in .gnu.version if the version is not the default one (LSB Core, "Symbol
// Version Table").
const versionHidden = 0x8000

// symbolChunk is how many bytes of a symbol table are read at a time.
const symbolChunk = 24 << 13

// maxEntries is the maximum number of entries in a symbol table. The largest browsers have some
// millions, not all of them functions.
const maxEntries = 16 << 20

// addSymtab collects the code symbols of .symtab or .dynsym in m. versions is the .gnu.version
// section that belongs to .dynsym.
func (b *builder) addSymtab(m *elfimage.Image, symtab *elf.SectionHeader, versions []byte) error {
	if uint64(symtab.Link) >= uint64(len(m.Sections)) {
		return fmt.Errorf("symbol table %s: no string table %d", symtab.Name, symtab.Link)
	}
	strtab, err := b.stringsOf(m, symtab.Link)
	if err != nil {
		return err
	}
	return b.addSymbols(m, symtab.Offset, symtab.Size, strtab, versions)
}

func (b *builder) stringsOf(m *elfimage.Image, section uint32) ([]byte, error) {
	if b.want != nil {
		return b.want.stringsOf(m, section)
	}
	return m.Bytes(&m.Sections[section])
}

func (b *builder) addSymbols(m *elfimage.Image, offset, size uint64, strtab, versions []byte) error {
	source, err := b.source(strtab)
	if err != nil {
		return err
	}
	entsize := symbolSize(m)
	if size/entsize > maxEntries {
		return errTooMany
	}
	if err := m.CheckHoles(offset, size); err != nil {
		return fmt.Errorf("read symbols: %w", err)
	}
	for index := uint64(0); index < size/entsize; {
		chunk, err := m.Read(offset+index*entsize, min(symbolChunk, size-index*entsize), symbolChunk)
		if err != nil {
			return fmt.Errorf("read symbols: %w", err)
		}
		for ; uint64(len(chunk)) >= entsize; chunk = chunk[entsize:] {
			s := decodeSymbol(m, chunk)
			if v := index * 2; v+2 <= uint64(len(versions)) {
				s.old = m.Order.Uint16(versions[v:])&versionHidden != 0
			}
			index++
			if err := b.addSymbol(m, source, &s); err != nil {
				return err
			}
		}
	}
	return nil
}

// symbol is one Elf32_Sym or Elf64_Sym.
type symbol struct {
	name        uint32
	info        uint8
	index       uint16
	value, size uint64
	old         bool // not the default version
}

func symbolSize(m *elfimage.Image) uint64 {
	if m.Is64 {
		return elf.Sym64Size
	}
	return elf.Sym32Size
}

func decodeSymbol(m *elfimage.Image, b []byte) symbol {
	if m.Is64 {
		return symbol{
			name: m.Order.Uint32(b), info: b[4], index: m.Order.Uint16(b[6:]),
			value: m.Order.Uint64(b[8:]), size: m.Order.Uint64(b[16:]),
		}
	}
	return symbol{
		name: m.Order.Uint32(b), info: b[12], index: m.Order.Uint16(b[14:]),
		value: uint64(m.Order.Uint32(b[4:])), size: uint64(m.Order.Uint32(b[8:])),
	}
}

// addSymbol keeps s if it names code.
func (b *builder) addSymbol(m *elfimage.Image, source int, s *symbol) error {
	if elf.SectionIndex(s.index) == elf.SHN_ABS {
		return nil
	}
	var rank uint8
	kind := Defined
	switch elf.ST_TYPE(s.info) {
	case elf.STT_GNU_IFUNC:
		rank, kind = rankFunction, Indirect
	case elf.STT_FUNC:
		rank = rankFunction
	case elf.STT_NOTYPE:
	default:
		return nil
	}
	if b.seen && b.want != nil && !b.want.asksFor(codeAddr(m, s), s.size, s.size > 0 || rank != 0) {
		return nil
	}
	name := cbytes(b.sources[source], uint64(s.name), maxSymbolName)
	if rank == 0 && isMark(name) {
		return nil
	}
	// The static linker leaves versions in .symtab: name@@CURRENT, name@OLD.
	old := s.old
	if at := bytes.IndexByte(name, '@'); at > 0 {
		old = at+1 < len(name) && name[at+1] != '@'
		name = name[:at]
	}
	if elf.SectionIndex(s.index) == elf.SHN_UNDEF {
		if rank == 0 {
			return nil
		}
		return b.addImport(source, s.name, len(name))
	}
	if !old {
		rank |= rankCurrent
	}
	switch elf.ST_BIND(s.info) {
	case elf.STB_LOCAL:
	case elf.STB_WEAK:
		rank |= rankExported
	default:
		rank |= rankExported | rankStrong
	}
	return b.add(source, s.name, len(name), codeAddr(m, s), s.size, rank, kind)
}

func codeAddr(m *elfimage.Image, s *symbol) uint64 {
	if m.Machine == elf.EM_ARM {
		return s.value &^ 1 // the Thumb bit
	}
	return s.value
}

// isMark reports whether a label is only meant for tools: the mapping symbols of the Arm and
// RISC-V psABIs ($x, $d.12), and compilers' local labels.
func isMark(name []byte) bool {
	return len(name) > 0 && name[0] == '$' || bytes.HasPrefix(name, []byte(".L"))
}
