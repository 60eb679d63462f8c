package elfimage

import "debug/elf"

// maxDynamic is how many bytes of the dynamic section are looked at.
const maxDynamic = 64 << 10

// Dynamic returns the entries of PT_DYNAMIC, the last value for each tag. All
// its addresses are virtual, as the linker wrote them.
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

// WordSize is the size of an address in bytes.
func (m *Image) WordSize() uint64 {
	if m.Is64 {
		return 8
	}
	return 4
}

// Word decodes the address that b begins with.
func (m *Image) Word(b []byte) uint64 {
	if m.Is64 {
		return m.Order.Uint64(b)
	}
	return uint64(m.Order.Uint32(b))
}
