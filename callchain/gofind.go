package callchain

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"strings"
)

// Bounds on the work that a crafted file can ask for.
const (
	maxRegions    = 16 // data sections or segments looked through
	maxCandidates = 16 // places that look like a table
)

// region is a part of the file's memory image that holds data.
type region struct {
	addr uint64
	size uint64
	r    io.ReaderAt
}

func (g region) read() ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(g.r, 0, int64(min(g.size, maxSection))))
}

// dataRegions gives the initialised data that names start with one of the
// prefixes; of a file without sections all that is not code.
func dataRegions(f *elf.File, prefixes ...string) (regions []region) {
	for _, s := range f.Sections {
		if s.Type != elf.SHT_PROGBITS || s.Flags&elf.SHF_ALLOC == 0 || s.Flags&elf.SHF_COMPRESSED != 0 {
			continue
		}
		for _, prefix := range prefixes {
			if strings.HasPrefix(s.Name, prefix) {
				regions = append(regions, region{s.Addr, s.Size, s})
				break
			}
		}
	}
	if len(f.Sections) > 0 {
		return regions[:min(len(regions), maxRegions)]
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X == 0 {
			regions = append(regions, region{p.Vaddr, p.Filesz, p})
		}
	}
	return regions[:min(len(regions), maxRegions)]
}

// findGoTable finds and reads the table of a Go binary; nil for any other. It
// lies, in this order: in a section of its own; after external linking of a
// position-independent binary, somewhere in .data.rel.ro; in a file without
// sections, anywhere in the data.
func findGoTable(f *elf.File, arch Arch) (*goTable, error) {
	named := dataRegions(f, ".gopclntab", ".data.rel.ro.gopclntab")
	if len(f.Sections) > 0 && len(named) == 0 {
		if !isGo(f) {
			return nil, nil
		}
		named = dataRegions(f, ".data.rel.ro", ".rodata")
	}
	candidates := 0
	for _, g := range named {
		data, err := g.read()
		if err != nil {
			return nil, fmt.Errorf("read Go function table: %w", err)
		}
		for from := 0; candidates < maxCandidates; candidates++ {
			i := nextGoMagic(data[from:])
			if i < 0 {
				break
			}
			from += i
			if t, err := parseGoTable(data[from:], arch); err == nil && t.locate(f, g.addr+uint64(from)) {
				return t, nil
			}
			from += 8
		}
	}
	return nil, nil
}

// isGo says whether the Go linker had a part in a file with sections.
func isGo(f *elf.File) bool {
	return f.Section(".go.buildinfo") != nil || f.Section(".note.go.buildid") != nil
}

// nextGoMagic finds what may be the header of a pclntab: the magic number and
// the two zero bytes after it; -1 if there is none.
func nextGoMagic(data []byte) int {
	for from := 0; ; {
		i := bytes.Index(data[from:], []byte{0xff, 0xff, 0xff, 0, 0})
		if i < 0 {
			return -1
		}
		from += i
		if from > 0 && (data[from-1] == magicGo118&0xff || data[from-1] == magicGo120&0xff) {
			return from - 1
		}
		from++
	}
}

// Places in runtime.moduledata, which have been the same since Go 1.18.
const (
	moduleMinPC = 160
	moduleMaxPC = 168
)

// locate finds the address that the table's entries count from. Up to Go 1.25
// the header has it, but it is zero where the loader would have to relocate
// it. The runtime's moduledata points at the table and has the first and last
// address of the code. The begin of .text is the last resort: after external
// linking some C code stands before Go's.
func (t *goTable) locate(f *elf.File, addr uint64) bool {
	if t.n == 0 || len(t.funcs) < t.n*8+4 {
		return false
	}
	first := uint64(binary.LittleEndian.Uint32(t.funcs))
	last := uint64(binary.LittleEndian.Uint32(t.funcs[t.n*8:]))
	if t.text != 0 {
		return executable(f, t.text+first)
	}
	minPC, ok := minPCInData(f, addr, last-first)
	if !ok {
		minPC, ok = minPCInRelocations(f, addr)
	}
	if text := f.Section(".text"); !ok && text != nil {
		minPC, ok = text.Addr+first, true
	}
	t.text = minPC - first
	return ok && executable(f, minPC)
}

// minPCInData finds moduledata in the data by its pointer to the table.
func minPCInData(f *elf.File, table, size uint64) (uint64, bool) {
	pointer := binary.LittleEndian.AppendUint64(nil, table)
	for _, g := range dataRegions(f, ".go.module", ".noptrdata", ".data") {
		data, err := g.read()
		if err != nil {
			continue
		}
		for from := 0; ; from += 8 {
			i := bytes.Index(data[from:], pointer)
			if i < 0 || from+i+moduleMaxPC+8 > len(data) {
				break
			}
			from += i
			minPC := binary.LittleEndian.Uint64(data[from+moduleMinPC:])
			if maxPC := binary.LittleEndian.Uint64(data[from+moduleMaxPC:]); maxPC-minPC == size {
				return minPC, true
			}
		}
	}
	return 0, false
}

// minPCInRelocations finds the same where the pointers are written by the
// loader, and stand in the relocations only.
func minPCInRelocations(f *elf.File, table uint64) (uint64, bool) {
	const entry = 24 // Elf64_Rela: offset, info, addend
	looked := 0
	for _, s := range f.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 || looked == maxRegions {
			continue
		}
		looked++
		data, err := sectionData(s)
		if err != nil {
			continue
		}
		find := func(field int, want uint64) (int, bool) {
			for at := 0; at+entry <= len(data); at += entry {
				if binary.LittleEndian.Uint64(data[at+field:]) == want {
					return at, true
				}
			}
			return 0, false
		}
		if at, ok := find(16, table); ok {
			module := binary.LittleEndian.Uint64(data[at:])
			if at, ok := find(0, module+moduleMinPC); ok {
				return binary.LittleEndian.Uint64(data[at+16:]), true
			}
		}
	}
	return 0, false
}

// executable says whether a virtual address is code.
func executable(f *elf.File, addr uint64) bool {
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD && p.Flags&elf.PF_X != 0 && addr-p.Vaddr < p.Filesz {
			return true
		}
	}
	return false
}
