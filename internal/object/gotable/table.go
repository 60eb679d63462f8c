package gotable

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sort"

	"github.com/ringtap/ringtap/internal/object/elfimage"
)

// Version is the magic number of a table (internal/abi/symtab.go), named after the first
// release that wrote it.
type Version uint32

const (
	Go12  Version = 0xfffffffb
	Go116 Version = 0xfffffffa
	Go118 Version = 0xfffffff0
	Go120 Version = 0xfffffff1
)

// maxFunctions is a few times the number in the largest programs.
const maxFunctions = 4 << 20

// Table is the function table of one file.
type Table struct {
	Version Version
	Len     uint64 // number of functions
	Text    uint64 // base address of entries from Go 1.18 on
	GoFunc  uint64 // base address of Func.Data, 0 if unknown

	// The address range of zero-initialized variables that hold pointers (bss); 0 if unknown.
	BSS, BSSEnd uint64

	image   *elfimage.Image
	addr    uint64 // of the table in the image
	order   binary.ByteOrder
	ptr     uint64 // bytes of a pointer
	quantum uint64 // bytes per unit of address in a pc-value table
	names   part   // NUL-terminated
	units   part   // per compilation unit, uint32 offsets into files; none before Go 1.16
	files   part   // NUL-terminated; before Go 1.16 uint32 offsets into names
	values  part   // pc-value tables
	index   part   // sorted (entry, offset in funcs), and one entry as the end
	funcs   part   // descriptions of functions
}

// maxHeader is the size of the largest header.
const maxHeader = 8 + 8*8

// isHeader reports whether b starts with a table's header: the magic number, two zeros, the
// instruction quantum and the size of a pointer.
func isHeader(b []byte, order binary.ByteOrder) bool {
	if len(b) < 16 || b[4] != 0 || b[5] != 0 || b[7] != 4 && b[7] != 8 || b[6] != 1 && b[6] != 2 && b[6] != 4 {
		return false
	}
	switch Version(order.Uint32(b)) {
	case Go12, Go116, Go118, Go120:
		return true
	}
	return false
}

// New divides b into the parts of a table. b holds the bytes at the address addr of the file m,
// and everything after it that may belong to the table. Text is set from the header. The linker
// leaves it out if the loader would have to relocate it, and from Go 1.26 on. Open then finds
// it elsewhere.
//
// From Go 1.18 on, the header's words after the first eight bytes are: functions, files, start
// of text, and the offsets of names, units, files, pc-value tables and functions. Go 1.16 has
// no start of text. Earlier headers have only the number of functions, and all parts share one
// area.
func New(m *elfimage.Image, addr uint64, b []byte) (*Table, error) {
	return divide(m, addr, inMemory(b))
}

func divide(m *elfimage.Image, addr uint64, d *data) (*Table, error) {
	all := part{d, 0, d.size}
	b := all.upTo(0, maxHeader)
	if !isHeader(b, m.Order) {
		return nil, errors.New("no header")
	}
	t := &Table{
		Version: Version(m.Order.Uint32(b)), image: m, addr: addr, order: m.Order,
		quantum: uint64(b[6]), ptr: uint64(b[7]),
	}
	word := func(i uint64) uint64 { return t.number(b, 8+i*t.ptr) }
	part := func(i uint64) part { return all.from(word(i)) }
	t.Len = word(0)
	switch t.Version {
	case Go118, Go120:
		t.Text = word(2)
		t.names, t.units, t.files, t.values, t.funcs = part(3), part(4), part(5), part(6), part(7)
		t.index = t.funcs
	case Go116:
		t.names, t.units, t.files, t.values, t.funcs = part(2), part(3), part(4), part(5), part(6)
		t.index = t.funcs
	default:
		t.names, t.values, t.funcs = all, all, all
		t.index = all.from(8 + t.ptr)
	}
	if t.Len > maxFunctions || (t.Len*2+1)*t.field() > t.index.size {
		return nil, fmt.Errorf("%d functions in %d bytes", t.Len, t.index.size)
	}
	if t.Version == Go12 {
		off := uint64(t.u32(t.index, (t.Len*2+1)*t.field()))
		t.files = all.from(off)
	}
	t.index.size = (t.Len*2 + 1) * t.field()
	return t, nil
}

// Entry returns the address of function i. Entry(Len) is the end of the last function.
func (t *Table) Entry(i uint64) uint64 {
	if t.relative() {
		return t.Text + uint64(t.u32(t.index, i*8))
	}
	return t.word(t.index, i*2*t.ptr)
}

// Find returns the index of the function that contains an address.
func (t *Table) Find(addr uint64) (uint64, bool) {
	i := uint64(sort.Search(int(t.Len)+1, func(i int) bool { return t.Entry(uint64(i)) > addr }))
	if i == 0 || i > t.Len {
		return 0, false
	}
	return i - 1, true
}

// relative reports whether addresses are relative to the start of text. The index then has
// four-byte fields.
func (t *Table) relative() bool { return t.Version == Go118 || t.Version == Go120 }

// field returns the size of an index field, in bytes.
func (t *Table) field() uint64 {
	if t.relative() {
		return 4
	}
	return t.ptr
}

// Name returns the name at an offset in the names, cut to limit bytes, or nil if the offset is
// outside. It may share memory with other names, and must not be changed.
func (t *Table) Name(off uint32, limit int) []byte { return t.names.text(uint64(off), uint64(limit)) }

// word reads a pointer-sized number, or returns 0 outside p.
func (t *Table) word(p part, off uint64) uint64 { return t.number(p.upTo(off, t.ptr), 0) }

// number reads a pointer-sized number, or returns 0 outside b.
func (t *Table) number(b []byte, off uint64) uint64 {
	if off > uint64(len(b)) || uint64(len(b))-off < t.ptr {
		return 0
	}
	if t.ptr == 4 {
		return uint64(t.order.Uint32(b[off:]))
	}
	return t.order.Uint64(b[off:])
}

// u32 reads a number, or returns 0 outside p.
func (t *Table) u32(p part, off uint64) uint32 {
	if b := p.bytes(off, 4); b != nil {
		return t.order.Uint32(b)
	}
	return 0
}
