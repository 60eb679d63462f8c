package symbols

import (
	"cmp"
	"debug/elf"
	"slices"
)

// vaddr returns the virtual address that the file has for the byte at offset
// when it is mapped by its program headers. Linkers let the pages of two
// segments overlap in the file, but never their bytes; where a file does so all
// the same the executable segment is taken, since code is what is looked up.
func (m *image) vaddr(offset uint64) (uint64, bool) {
	found := false
	var addr uint64
	for i := range m.segments {
		s := &m.segments[i]
		if s.typ != elf.PT_LOAD || offset < s.offset || offset-s.offset >= s.filesz {
			continue
		}
		if s.flags&elf.PF_X != 0 {
			return s.vaddr + (offset - s.offset), true
		}
		if !found {
			addr, found = s.vaddr+(offset-s.offset), true
		}
	}
	return addr, found
}

// offset is the inverse of vaddr.
func (m *image) offset(vaddr uint64) (uint64, bool) {
	for i := range m.segments {
		s := &m.segments[i]
		if s.typ == elf.PT_LOAD && vaddr >= s.vaddr && vaddr-s.vaddr < s.filesz {
			return s.offset + (vaddr - s.vaddr), true
		}
	}
	return 0, false
}

// code returns the ranges that may hold code, sorted and apart from each other:
// the executable sections, or without section headers the executable segments.
// A section counts only as far as a segment loads it.
func (m *image) code() []codeRange {
	var segments, sections []codeRange
	for i := range m.segments {
		s := &m.segments[i]
		if s.typ == elf.PT_LOAD && s.flags&elf.PF_X != 0 {
			segments = append(segments, codeRange{s.vaddr, s.vaddr + s.memsz})
		}
	}
	segments = disjoint(segments)
	for i := range m.sections {
		s := &m.sections[i]
		if s.flags&elf.SHF_ALLOC == 0 || s.flags&elf.SHF_EXECINSTR == 0 {
			continue
		}
		if end, ok := endOf(segments, s.addr); ok && s.size > 0 {
			sections = append(sections, codeRange{s.addr, min(s.addr+min(s.size, end-s.addr), end)})
		}
	}
	if len(sections) > 0 {
		return disjoint(sections)
	}
	return segments
}

// disjoint sorts ranges and cuts each where the next one begins.
func disjoint(ranges []codeRange) []codeRange {
	slices.SortFunc(ranges, func(x, y codeRange) int { return cmp.Compare(x.start, y.start) })
	for i := 1; i < len(ranges); i++ {
		ranges[i-1].end = min(ranges[i-1].end, ranges[i].start)
	}
	return ranges
}

// bytesAt reads n bytes at a virtual address.
func (m *image) bytesAt(vaddr, n uint64) ([]byte, error) {
	off, ok := m.offset(vaddr)
	if !ok {
		return nil, errNotMapped(vaddr)
	}
	return m.read(off, n, maxTable)
}
