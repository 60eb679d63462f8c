package elfimage

import (
	"bytes"
	"cmp"
	"debug/elf"
	"fmt"
	"slices"
	"sort"
)

// Loaded is a file as it is in memory before its program runs: the loader has applied the
// relocations. All addresses are virtual, as written by the linker.
type Loaded struct {
	image *Image
	parts []part // sorted by address
}

type part struct {
	addr  uint64
	bytes []byte
	size  uint64 // in memory: zeros follow the bytes
	flags elf.ProgFlag
}

// Loaded reads the segments, together at most limit bytes, and relocates them. It knows the
// relocations of 64-bit programs for amd64 and arm64. A word that would get the address of
// another file's symbol is zero.
func (m *Image) Loaded(limit uint64) (*Loaded, error) {
	l := &Loaded{image: m}
	for i := range m.Segments {
		s := &m.Segments[i]
		if s.Type != elf.PT_LOAD || s.Filesz == 0 {
			continue
		}
		b, err := m.Read(s.Off, s.Filesz, limit)
		if err != nil {
			return nil, fmt.Errorf("read segment: %w", err)
		}
		limit -= s.Filesz
		l.parts = append(l.parts, part{s.Vaddr, b, s.Memsz, s.Flags})
	}
	slices.SortFunc(l.parts, func(x, y part) int { return cmp.Compare(x.addr, y.addr) })
	l.relocate()
	return l, nil
}

// relocate writes the addresses. Those of DT_RELR are already in the file.
func (l *Loaded) relocate() {
	m := l.image
	var absolute uint32
	switch m.Machine {
	case elf.EM_X86_64:
		absolute = uint32(elf.R_X86_64_64)
	case elf.EM_AARCH64:
		absolute = uint32(elf.R_AARCH64_ABS64)
	default:
		return
	}
	m.Relatives(func(where, addend uint64) bool {
		l.put(where, addend)
		return true
	})
	tags := m.Dynamic()
	off, ok := m.Offset(tags[elf.DT_RELA])
	if !ok || tags[elf.DT_RELA] == 0 {
		return
	}
	m.Relocations(off, tags[elf.DT_RELASZ], true, func(r Relocation) bool {
		if r.Type != absolute {
			return true
		}
		if value := l.Word(tags[elf.DT_SYMTAB] + uint64(r.Symbol)*elf.Sym64Size + 8); value != 0 {
			l.put(r.Where, value+r.Addend)
		}
		return true
	})
}

// part returns the segment that contains an address, or nil.
func (l *Loaded) part(addr uint64) *part {
	i := sort.Search(len(l.parts), func(i int) bool { return l.parts[i].addr > addr }) - 1
	if i < 0 || addr-l.parts[i].addr >= l.parts[i].size {
		return nil
	}
	return &l.parts[i]
}

// at returns the file's bytes from an address to the end of its segment.
func (l *Loaded) at(addr uint64) []byte {
	p := l.part(addr)
	if p == nil {
		return nil
	}
	return p.bytes[min(addr-p.addr, uint64(len(p.bytes))):]
}

func (l *Loaded) put(addr, word uint64) {
	if b := l.at(addr); len(b) >= 8 {
		l.image.Order.PutUint64(b, word)
	}
}

// Word reads the eight bytes at an address as a number, or returns 0 if they are not in the
// file.
func (l *Loaded) Word(addr uint64) uint64 {
	if b := l.at(addr); len(b) >= 8 {
		return l.image.Order.Uint64(b)
	}
	return 0
}

// Holds reports whether an address is in a segment, including its zero-initialized part.
func (l *Loaded) Holds(addr uint64) bool { return l.part(addr) != nil }

// Text returns the string at an address, without its NUL. It returns false if the first limit
// bytes contain no NUL.
func (l *Loaded) Text(addr uint64, limit int) (text []byte, ok bool) {
	b := l.at(addr)
	b = b[:min(len(b), limit)]
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i], true
	}
	return nil, false
}

// Data calls visit with the address of each aligned word in writable data, until visit returns
// false.
func (l *Loaded) Data(visit func(addr uint64) bool) {
	for _, p := range l.parts {
		if p.flags&(elf.PF_W|elf.PF_X) != elf.PF_W {
			continue
		}
		for at := (8 - p.addr%8) % 8; at+8 <= uint64(len(p.bytes)); at += 8 {
			if !visit(p.addr + at) {
				return
			}
		}
	}
}
