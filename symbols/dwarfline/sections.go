package dwarfline

import (
	"encoding/binary"
	"fmt"
)

// Source provides the debug sections of one file.
type Source interface {
	// SectionData returns the uncompressed bytes of the section called name (".debug_info" and
	// so on, never a ".zdebug" name). It returns nil and no error if the file has none. The
	// Index keeps the slice and never writes to it.
	SectionData(name string) ([]byte, error)
}

// sections are the bytes of the debug sections (DWARF 5 section 7.3.1).
type sections struct {
	order      binary.ByteOrder
	info       []byte
	abbrev     []byte
	line       []byte
	str        []byte
	lineStr    []byte
	strOffsets []byte
	addr       []byte
	ranges     []byte // DWARF 2 to 4
	rngLists   []byte // DWARF 5
	aranges    []byte
	loc        []byte // DWARF 2 to 4; read together with locLists on first use
	locLists   []byte // DWARF 5
}

func readSections(src Source, order binary.ByteOrder) (*sections, error) {
	s := &sections{order: order}
	for _, to := range []struct {
		name string
		data *[]byte
	}{
		{".debug_info", &s.info},
		{".debug_abbrev", &s.abbrev},
		{".debug_line", &s.line},
		{".debug_str", &s.str},
		{".debug_line_str", &s.lineStr},
		{".debug_str_offsets", &s.strOffsets},
		{".debug_addr", &s.addr},
		{".debug_ranges", &s.ranges},
		{".debug_rnglists", &s.rngLists},
		{".debug_aranges", &s.aranges},
	} {
		data, err := src.SectionData(to.name)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", to.name, err)
		}
		*to.data = data
	}
	return s, nil
}
