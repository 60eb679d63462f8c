package symbols

import (
	"debug/elf"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// Limits of one section of stubs, and of relocations.
const (
	maxPLT      = 16 << 20 // bytes; a stub has at least 8
	maxPLTNames = 16 << 20 // total bytes of the stubs' names

	maxRelocations = 4 << 20 // of one file
)

// stub is an entry of a procedure linkage table. It jumps to the address in a slot of the
// global offset table.
type stub struct {
	addr, size uint64
	slot       uint64
	index      int // in the table of JUMP_SLOT relocations, if slot is 0
}

// target describes the address that a relocation will write to a slot.
type target struct {
	symbol   uint32 // index in the dynamic symbols, 0 if it has none
	resolver uint64 // for IRELATIVE: address of the function that chooses the target
}

// pltSections are the sections that contain stubs.
var pltSections = []string{".plt", ".plt.sec", ".plt.got", ".iplt"}

// addPLT names the stubs through which a file calls functions of other files, and functions
// that are chosen at load time: `name@plt`. It decodes the jumps of amd64 and arm64 stubs
// (psABIs, "Procedure Linkage Table"), and needs section headers.
func (b *builder) addPLT(m *elfimage.Image) error {
	if b.only != nil && !b.onlyStubs() {
		return nil
	}
	var decode func([]byte, uint64, uint64) []stub
	switch m.Machine {
	case elf.EM_X86_64:
		decode = stubsAMD64
	case elf.EM_AARCH64:
		decode = stubsARM64
	default:
		return nil
	}
	slots, lazy := b.pltSlots(m)
	if len(slots) == 0 {
		return nil
	}
	names, err := newPLTNames(m, b, slots)
	if err != nil {
		return fmt.Errorf("name linkage table: %w", err)
	}
	for _, name := range pltSections {
		s, ok := m.Section(name)
		if !ok || b.want != nil && !b.want.within(s.Addr, s.Size) {
			continue
		}
		code, err := m.Read(s.Offset, s.Size, maxPLT)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		stubs := decode(code, s.Addr, s.Entsize)
		for i := range stubs {
			if stub := &stubs[i]; stub.slot == 0 && stub.index < len(lazy) {
				stub.slot = lazy[stub.index]
			}
		}
		if err := b.addStubs(stubs, func(slot uint64) []byte { return names.of(slots[slot]) }); err != nil {
			return fmt.Errorf("name %s: %w", name, err)
		}
	}
	return nil
}

// addStubs adds the stubs whose slot has a name.
func (b *builder) addStubs(stubs []stub, nameOf func(slot uint64) []byte) error {
	var text []byte
	ends := make([]int, len(stubs))
	for i, stub := range stubs {
		if name := nameOf(stub.slot); len(name) > 0 {
			text = append(append(text, name...), "@plt"...)
		}
		if ends[i] = len(text); len(text) > maxPLTNames {
			return errTooMany
		}
	}
	source, err := b.source(text)
	if err != nil {
		return err
	}
	at := 0
	for i, stub := range stubs {
		const rank = rankFunction | rankCurrent | rankExported | rankStrong
		if err := b.add(source, uint32(at), ends[i]-at, stub.addr, stub.size, rank, PLT); err != nil {
			return err
		}
		at = ends[i]
	}
	return nil
}

// onlyStubs reports whether a wanted name is that of a stub.
func (b *builder) onlyStubs() bool {
	for name := range b.only {
		if strings.HasSuffix(name, "@plt") {
			return true
		}
	}
	return false
}

func (b *builder) pltSlots(m *elfimage.Image) (map[uint64]target, []uint64) {
	if b.want != nil {
		return b.want.slots, b.want.lazy
	}
	return pltSlots(m)
}

// pltSlots returns the target of each slot, and the slots of the JUMP_SLOT relocations in their
// order.
func pltSlots(m *elfimage.Image) (map[uint64]target, []uint64) {
	jump, data, chosen := uint32(elf.R_X86_64_JMP_SLOT), uint32(elf.R_X86_64_GLOB_DAT), uint32(elf.R_X86_64_IRELATIVE)
	if m.Machine == elf.EM_AARCH64 {
		jump, data, chosen = uint32(elf.R_AARCH64_JUMP_SLOT), uint32(elf.R_AARCH64_GLOB_DAT), uint32(elf.R_AARCH64_IRELATIVE)
	}
	slots := map[uint64]target{}
	var lazy []uint64
	seen := 0 // in all tables together
	for _, s := range m.Sections {
		if s.Type != elf.SHT_RELA || s.Flags&elf.SHF_ALLOC == 0 {
			continue
		}
		m.Relocations(s.Offset, s.Size, true, func(r elfimage.Relocation) bool {
			switch r.Type {
			case chosen:
				slots[r.Where] = target{resolver: r.Addend}
			case jump:
				lazy = append(lazy, r.Where)
				fallthrough
			case data:
				slots[r.Where] = target{symbol: r.Symbol}
			}
			seen++
			return seen < maxRelocations
		})
	}
	return slots, lazy
}

// pltNames resolves targets to names.
type pltNames struct {
	image     *elfimage.Image
	symbols   []byte // .dynsym
	strings   []byte
	resolvers map[uint64][]byte
}

func newPLTNames(m *elfimage.Image, b *builder, slots map[uint64]target) (*pltNames, error) {
	n := &pltNames{image: m, resolvers: map[uint64][]byte{}}
	for _, t := range slots {
		if t.symbol == 0 {
			n.resolvers[t.resolver] = nil
		}
	}
	rank := map[uint64]uint8{}
	for i := range b.candidates {
		c := &b.candidates[i]
		had, wanted := n.resolvers[c.addr]
		if wanted && (had == nil || preferName(b.nameOf(c), had, c.rank, rank[c.addr]) < 0) {
			n.resolvers[c.addr], rank[c.addr] = b.nameOf(c), c.rank
		}
	}
	dynsym, ok := m.SectionOf(elf.SHT_DYNSYM)
	if !ok || uint64(dynsym.Link) >= uint64(len(m.Sections)) {
		return n, nil
	}
	var err error
	if n.symbols, err = m.Bytes(dynsym); err != nil {
		return nil, err
	}
	n.strings, err = m.Bytes(&m.Sections[dynsym.Link])
	return n, err
}

func (n *pltNames) of(t target) []byte {
	if t.symbol == 0 {
		return n.resolvers[t.resolver]
	}
	size := symbolSize(n.image)
	if off := uint64(t.symbol) * size; off+size <= uint64(len(n.symbols)) {
		return cbytes(n.strings, uint64(decodeSymbol(n.image, n.symbols[off:]).name), maxSymbolName-len("@plt"))
	}
	return nil
}
