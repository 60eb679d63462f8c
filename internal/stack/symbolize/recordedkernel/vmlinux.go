package recordedkernel

import (
	"bytes"
	"cmp"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// maxText bounds the text, in bytes. In a crafted file many symbols may share one long name.
const maxText = 64 << 20

var (
	errNoSymtab = errors.New("it has no symbol table")
	errTooMany  = errors.New("it has too many symbols")
)

// code is a symbol of a kernel's code.
type code struct {
	addr uint64
	kind byte // as in nm(1)
	name []byte
}

// functions returns the code symbols of a 64-bit vmlinux as text in the format of /proc/kallsyms,
// sorted by address.
func functions(r io.ReaderAt, size int64) (*bytes.Buffer, error) {
	m, err := elfimage.New(r, size)
	if err != nil {
		return nil, err
	}
	symtab, ok := m.SectionOf(elf.SHT_SYMTAB)
	if !ok || !m.Is64 || int64(symtab.Link) >= int64(len(m.Sections)) {
		return nil, errNoSymtab
	}
	table, err := m.Bytes(symtab)
	if err != nil {
		return nil, err
	}
	names, err := m.Bytes(&m.Sections[symtab.Link])
	if err != nil {
		return nil, err
	}
	var found []code
	length := 0
	for ; len(table) >= elf.Sym64Size; table = table[elf.Sym64Size:] {
		// struct Elf64_Sym: name, info, other, section, value, size
		start, section := m.Order.Uint32(table), int(m.Order.Uint16(table[6:]))
		kind := kindOf(table[4])
		if kind == 0 || section >= len(m.Sections) || m.Sections[section].Flags&elf.SHF_EXECINSTR == 0 {
			continue
		}
		name, _, _ := bytes.Cut(names[min(uint64(start), uint64(len(names))):], []byte{0})
		if isLocalLabel(name) {
			continue
		}
		if length += len("0123456789abcdef t \n") + len(name); length > maxText {
			return nil, errTooMany
		}
		found = append(found, code{m.Order.Uint64(table[8:]), kind, name})
	}
	slices.SortStableFunc(found, func(a, b code) int { return cmp.Compare(a.addr, b.addr) })
	var text bytes.Buffer
	text.Grow(length)
	for _, c := range found {
		fmt.Fprintf(&text, "%016x %c %s\n", c.addr, c.kind, c.name)
	}
	return &text, nil
}

// kindOf returns nm's letter for a code symbol with that st_info, or 0 for a section or a file.
func kindOf(info byte) byte {
	switch elf.ST_TYPE(info) {
	case elf.STT_FUNC, elf.STT_NOTYPE:
	default:
		return 0
	}
	switch elf.ST_BIND(info) {
	case elf.STB_LOCAL:
		return 't'
	case elf.STB_WEAK:
		return 'W'
	}
	return 'T'
}

// isLocalLabel reports whether a name is a mapping symbol of the Arm psABIs or an assembler's label.
// kallsyms does not have these (scripts/mksysmap).
func isLocalLabel(name []byte) bool {
	return len(name) == 0 || name[0] == '$' || bytes.HasPrefix(name, []byte(".L"))
}
