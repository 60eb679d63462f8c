package dwarfline

import (
	"encoding/binary"
	"fmt"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

// Packaged returns the sections of one unit of a package of split units (a .dwp file; DWARF 5
// section 7.3.5), or nil if the package has no unit with that id. pkg is asked for section
// names without the .dwo suffix.
func Packaged(pkg Source, byteOrder binary.ByteOrder, id uint64) (Source, error) {
	table, err := pkg.SectionData(".debug_cu_index")
	if err != nil {
		return nil, fmt.Errorf("read .debug_cu_index: %w", err)
	}
	row, ok := findRow(table, byteOrder, id)
	if !ok {
		return nil, nil
	}
	unit := &packaged{pkg: pkg, parts: map[string]span{}}
	names := map[uint64]string{1: ".debug_info", 3: ".debug_abbrev", 5: ".debug_loclists", 6: ".debug_str_offsets", 8: ".debug_rnglists"}
	if row.version == 2 { // before DWARF 5
		names[5] = ".debug_loc"
		delete(names, 8)
	}
	for i := range row.columns {
		if name := names[row.number(row.head, i)]; name != "" {
			start := row.number(row.offsets, i)
			unit.parts[name] = span{start, start + row.number(row.sizes, i)}
		}
	}
	return unit, nil
}

// packaged provides the sections of one unit of a package.
type packaged struct {
	pkg   Source
	parts map[string]span // sections that are divided among the units
}

// SectionData returns the unit's part of a section.
func (p *packaged) SectionData(name string) ([]byte, error) {
	part, ok := p.parts[name]
	if !ok && name != ".debug_str" { // all units share .debug_str
		return nil, nil
	}
	data, err := p.pkg.SectionData(name)
	if err != nil || !ok {
		return data, err
	}
	if part.low > part.high || part.high > uint64(len(data)) {
		return nil, fmt.Errorf("part %#x to %#x of %s is outside of it", part.low, part.high, name)
	}
	return data[part.low:part.high:part.high], nil
}

// indexRow locates one unit's row in the index of a package.
type indexRow struct {
	table                []byte
	order                binary.ByteOrder
	version              uint32
	columns              uint64
	head, offsets, sizes uint64 // where the rows start
}

// number returns one column of a row.
func (r *indexRow) number(row, column uint64) uint64 {
	return uint64(r.order.Uint32(r.table[row+4*column:]))
}

// maxColumns limits the sections in an index; DWARF defines eight.
const maxColumns = 64

// findRow finds a unit in the hash table of an index.
func findRow(table []byte, order binary.ByteOrder, id uint64) (indexRow, bool) {
	c := bytecursor.New(table, 0, order)
	r := indexRow{table: table, order: order, version: uint32(c.U16())}
	c.Skip(2) // upper half of the version, or padding
	r.columns = c.Uint(4)
	units, slots := c.Uint(4), c.Uint(4)
	// With each factor bounded, the products do not overflow.
	if c.Err() != nil || r.version != 2 && r.version != 5 || r.columns > maxColumns ||
		c.Offset()+12*slots+4*r.columns*(1+2*units) > uint64(len(table)) || slots == 0 || slots&(slots-1) != 0 {
		return r, false
	}
	rows := c.Offset() + 8*slots
	slot, step := id&(slots-1), id>>32&(slots-1)|1
	for range slots {
		i := uint64(order.Uint32(table[rows+4*slot:]))
		if i == 0 || i > units {
			return r, false
		}
		if order.Uint64(table[c.Offset()+8*slot:]) == id {
			r.head = rows + 4*slots
			r.offsets = r.head + 4*r.columns*i
			r.sizes = r.offsets + 4*r.columns*units
			return r, true
		}
		slot = (slot + step) & (slots - 1)
	}
	return r, false
}
