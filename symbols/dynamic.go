package symbols

import "debug/elf"

// maxDynamic is how many bytes of the dynamic section are looked at.
const maxDynamic = 64 << 10

// dynamic returns the entries of PT_DYNAMIC, the last value for each tag. All
// its addresses are virtual, as the linker wrote them.
func (m *image) dynamic() map[elf.DynTag]uint64 {
	tags := map[elf.DynTag]uint64{}
	for i := range m.segments {
		s := &m.segments[i]
		if s.typ != elf.PT_DYNAMIC {
			continue
		}
		b, err := m.read(s.offset, min(s.filesz, maxDynamic), maxDynamic)
		if err != nil {
			return nil
		}
		word := m.wordSize()
		for ; uint64(len(b)) >= 2*word; b = b[2*word:] {
			tag := elf.DynTag(m.word(b))
			if tag == elf.DT_NULL {
				break
			}
			tags[tag] = m.word(b[word:])
		}
		break
	}
	return tags
}

func (m *image) wordSize() uint64 {
	if m.is64 {
		return 8
	}
	return 4
}

func (m *image) word(b []byte) uint64 {
	if m.is64 {
		return m.order.Uint64(b)
	}
	return uint64(m.order.Uint32(b))
}
