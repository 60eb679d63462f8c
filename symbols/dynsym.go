package symbols

import (
	"debug/elf"
	"errors"
	"fmt"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// addDynsym collects the symbols of .dynsym. If the section headers are missing, it reads the
// table that PT_DYNAMIC points at.
func (b *builder) addDynsym(m *elfimage.Image) error {
	if dynsym, ok := m.SectionOf(elf.SHT_DYNSYM); ok {
		var versions []byte
		if s, ok := m.SectionOf(elf.SHT_GNU_VERSYM); ok {
			versions, _ = m.Bytes(s)
		}
		return b.addSymtab(m, dynsym, versions)
	}
	tags := m.Dynamic()
	if tags[elf.DT_SYMTAB] == 0 || tags[elf.DT_STRTAB] == 0 {
		return nil
	}
	strtab, err := m.BytesAt(tags[elf.DT_STRTAB], tags[elf.DT_STRSZ])
	if err != nil {
		return fmt.Errorf("read dynamic strings: %w", err)
	}
	offset, ok := m.Offset(tags[elf.DT_SYMTAB])
	if !ok {
		return fmt.Errorf("dynamic symbols at %#x are in no segment of the file", tags[elf.DT_SYMTAB])
	}
	n := countDynsym(m, tags)
	if n > maxSymbols {
		return errTooMany
	}
	var versions []byte
	if at := tags[elf.DT_VERSYM]; at != 0 {
		versions, _ = m.BytesAt(at, n*2)
	}
	return b.addSymbols(m, offset, n*symbolSize(m), strtab, versions)
}

// countDynsym returns the number of dynamic symbols, which is stored nowhere. The old hash
// table has one chain entry per symbol; the last chain of the GNU hash table ends at the last
// symbol. Without either, we assume that the string table follows the symbols.
func countDynsym(m *elfimage.Image, tags map[elf.DynTag]uint64) uint64 {
	if at := tags[elf.DT_HASH]; at != 0 {
		if b, err := m.BytesAt(at, 8); err == nil {
			return uint64(m.Order.Uint32(b[4:]))
		}
	}
	if at := tags[elf.DT_GNU_HASH]; at != 0 {
		if n, err := countGNUHash(m, at); err == nil {
			return n
		}
	}
	if tags[elf.DT_STRTAB] > tags[elf.DT_SYMTAB] {
		return (tags[elf.DT_STRTAB] - tags[elf.DT_SYMTAB]) / symbolSize(m)
	}
	return 0
}

var errGNUHash = errors.New("malformed GNU hash table")

// countGNUHash finds the end of the last chain in DT_GNU_HASH. The table has four numbers
// (number of buckets, first symbol, words of the filter, shift), the filter, the buckets, and a
// hash for each symbol from the first one on. A chain ends at a hash whose lowest bit is set.
func countGNUHash(m *elfimage.Image, addr uint64) (uint64, error) {
	head, err := m.BytesAt(addr, 16)
	if err != nil {
		return 0, err
	}
	buckets, first := uint64(m.Order.Uint32(head)), uint64(m.Order.Uint32(head[4:]))
	filter := uint64(m.Order.Uint32(head[8:])) * m.WordSize()
	if buckets > maxSymbols {
		return 0, errGNUHash
	}
	b, err := m.BytesAt(addr+16+filter, buckets*4)
	if err != nil {
		return 0, err
	}
	last := uint64(0)
	for ; len(b) > 0; b = b[4:] {
		last = max(last, uint64(m.Order.Uint32(b)))
	}
	if last < first {
		return first, nil // every bucket is empty
	}
	chains := addr + 16 + filter + buckets*4
	for ; last < maxSymbols; last++ {
		hash, err := m.BytesAt(chains+(last-first)*4, 4)
		if err != nil {
			return 0, err
		}
		if m.Order.Uint32(hash)&1 != 0 {
			return last + 1, nil
		}
	}
	return 0, errGNUHash
}
