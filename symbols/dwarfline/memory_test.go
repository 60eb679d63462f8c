package dwarfline

// memory is a Source of sections by name.
type memory map[string][]byte

func (m memory) SectionData(name string) ([]byte, error) { return m[name], nil }
