package symbols

import (
	"cmp"
	"debug/elf"
	"slices"
	"sort"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// codeRange is a part of a file that may hold code, in virtual addresses.
type codeRange struct{ start, end uint64 }

// endOf returns the end of the range that holds addr; ranges are sorted.
func endOf(ranges []codeRange, addr uint64) (uint64, bool) {
	i := sort.Search(len(ranges), func(i int) bool { return ranges[i].start > addr })
	if i == 0 || addr >= ranges[i-1].end {
		return 0, false
	}
	return ranges[i-1].end, true
}

// codeOf returns the ranges that may contain code, sorted and disjoint: the executable
// sections, or the executable segments if there are no section headers. Parts of a section that
// no segment loads are left out.
func codeOf(m *elfimage.Image) []codeRange {
	var segments, sections []codeRange
	for i := range m.Segments {
		s := &m.Segments[i]
		if s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 {
			segments = append(segments, codeRange{s.Vaddr, s.Vaddr + s.Memsz})
		}
	}
	segments = disjoint(segments)
	for i := range m.Sections {
		s := &m.Sections[i]
		if s.Flags&elf.SHF_ALLOC == 0 || s.Flags&elf.SHF_EXECINSTR == 0 {
			continue
		}
		if end, ok := endOf(segments, s.Addr); ok && s.Size > 0 {
			sections = append(sections, codeRange{s.Addr, min(s.Addr+min(s.Size, end-s.Addr), end)})
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
