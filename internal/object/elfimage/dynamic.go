package elfimage

import "debug/elf"

// maxDynamic bounds the part of the dynamic section that is read, in bytes.
const maxDynamic = 64 << 10

// Dynamic returns the entries of PT_DYNAMIC; if a tag occurs twice, the last value. All
// addresses are virtual, as written by the linker.
func (m *Image) Dynamic() map[elf.DynTag]uint64 {
	tags := map[elf.DynTag]uint64{}
	for i := range m.Segments {
		s := &m.Segments[i]
		if s.Type != elf.PT_DYNAMIC {
			continue
		}
		b, err := m.Read(s.Off, min(s.Filesz, maxDynamic), maxDynamic)
		if err != nil {
			return nil
		}
		word := m.WordSize()
		for ; uint64(len(b)) >= 2*word; b = b[2*word:] {
			tag := elf.DynTag(m.Word(b))
			if tag == elf.DT_NULL {
				break
			}
			tags[tag] = m.Word(b[word:])
		}
		break
	}
	return tags
}

// WordSize returns the size of an address in bytes.
func (m *Image) WordSize() uint64 {
	if m.Is64 {
		return 8
	}
	return 4
}

// Word decodes the address at the start of b.
func (m *Image) Word(b []byte) uint64 {
	if m.Is64 {
		return m.Order.Uint64(b)
	}
	return uint64(m.Order.Uint32(b))
}
