package uprobe

import (
	"bytes"
	"debug/elf"
)

// needed lists the target's shared libraries: the DT_NEEDED entries (gABI, chapter 5).
func (t *target) needed() []string {
	m := t.image
	dynamic := m.Dynamic()
	names, err := m.BytesAt(dynamic[elf.DT_STRTAB], dynamic[elf.DT_STRSZ])
	if err != nil {
		return nil
	}
	var out []string
	for _, s := range m.Segments {
		if s.Type != elf.PT_DYNAMIC {
			continue
		}
		entries, err := m.BytesAt(s.Vaddr, s.Filesz)
		if err != nil {
			return nil
		}
		for ; len(entries) >= 16; entries = entries[16:] {
			tag, value := elf.DynTag(m.Word(entries)), m.Word(entries[8:])
			if tag == elf.DT_NULL {
				break
			}
			if tag == elf.DT_NEEDED && value < uint64(len(names)) {
				name, _, _ := bytes.Cut(names[value:], []byte{0})
				out = append(out, string(name))
			}
		}
	}
	return out
}
