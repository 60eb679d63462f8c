package symbols

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// Magic numbers of a Go binary's table of functions (internal/abi/symtab.go of
// the Go distribution): the first release that wrote each.
const (
	goMagic12  = 0xfffffffb
	goMagic116 = 0xfffffffa
	goMagic118 = 0xfffffff0
	goMagic120 = 0xfffffff1
)

var errNoGoTable = errors.New("no Go function table")

// goTable is the table that every Go binary carries for its own tracebacks,
// stripped or not. Its parts are slices of one read of the file.
type goTable struct {
	image   *image
	addr    uint64 // of the table in the image
	order   binary.ByteOrder
	magic   uint32
	ptr     uint64 // bytes of a pointer
	quantum uint64 // bytes that a step of one in a pc table stands for
	nfunc   uint64

	names []byte // NUL-terminated
	cus   []byte // per compilation unit, uint32 offsets into files
	files []byte // NUL-terminated; before Go 1.16 uint32 offsets into names
	pcs   []byte // pc-value tables
	ftab  []byte // sorted (entry, offset in funcs), and one entry as the end
	funcs []byte // descriptions of functions

	text   uint64 // what entries are relative to from Go 1.18 on
	gofunc uint64 // address of function data, 0 when not known
}

// openGoTable finds and opens the table of m.
func openGoTable(m *image) (*goTable, error) {
	addr, data, err := findGoTable(m)
	if err != nil {
		return nil, err
	}
	t := &goTable{image: m, addr: addr}
	if err := t.parse(data); err != nil {
		return nil, fmt.Errorf("function table of Go at %#x: %w", addr, err)
	}
	if t.relative() {
		if err := t.locate(); err != nil {
			return nil, fmt.Errorf("function table of Go at %#x: %w", addr, err)
		}
	}
	return t, nil
}

// isGoHeader reports whether b begins with the header of a table: the magic
// number, two zeros, the instruction quantum and the size of a pointer.
func isGoHeader(b []byte, order binary.ByteOrder) bool {
	if len(b) < 16 || b[4] != 0 || b[5] != 0 || b[7] != 4 && b[7] != 8 || b[6] != 1 && b[6] != 2 && b[6] != 4 {
		return false
	}
	switch order.Uint32(b) {
	case goMagic12, goMagic116, goMagic118, goMagic120:
		return true
	}
	return false
}

// findGoTable returns the table's address and bytes: those of its section, or
// without section headers what follows its header in the segment.
func findGoTable(m *image) (uint64, []byte, error) {
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		if s, ok := m.section(name); ok {
			b, err := m.bytes(s)
			return s.addr, b, err
		}
	}
	if len(m.sections) > 0 {
		return 0, nil, errNoGoTable
	}
	for i := range m.segments {
		s := &m.segments[i]
		if s.typ != elf.PT_LOAD || s.flags&elf.PF_X != 0 && s.flags&elf.PF_W != 0 {
			continue
		}
		off, ok := scanWords(m, s.offset, min(s.filesz, maxTable), 8, func(_ uint64, b []byte) bool {
			return isGoHeader(b, m.order)
		})
		if !ok {
			continue
		}
		b, err := m.read(off, min(s.filesz-(off-s.offset), uint64(m.size)-off), maxTable)
		return s.vaddr + (off - s.offset), b, err
	}
	return 0, nil, errNoGoTable
}

// scanWords calls match with 16 bytes at every multiple of step in a part of
// the file, and their offset, until it returns true; it returns that offset.
func scanWords(m *image, off, n, step uint64, match func(off uint64, b []byte) bool) (uint64, bool) {
	const chunk, look = 1 << 20, 16
	for done := uint64(0); done+look <= n; done += chunk {
		b, err := m.read(off+done, min(chunk+look, n-done), chunk+look)
		if err != nil {
			return 0, false
		}
		for i := uint64(0); i < chunk && i+look <= uint64(len(b)); i += step {
			if match(off+done+i, b[i:i+look]) {
				return off + done + i, true
			}
		}
	}
	return 0, false
}

// parse divides the table into its parts. The header's words behind the first
// eight bytes are, from Go 1.18 on: functions, files, start of text, and the
// offsets of names, units, files, pc tables and functions. Go 1.16 has no start
// of text. Before there is the number of functions only, and all in one.
func (t *goTable) parse(b []byte) error {
	t.order = t.image.order
	if !isGoHeader(b, t.order) {
		return errors.New("no header")
	}
	t.magic, t.quantum, t.ptr = t.order.Uint32(b), uint64(b[6]), uint64(b[7])
	word := func(i uint64) uint64 { return t.word(b, 8+i*t.ptr) }
	part := func(i uint64) []byte { return b[min(word(i), uint64(len(b))):] }
	t.nfunc = word(0)
	switch t.magic {
	case goMagic118, goMagic120:
		t.text = word(2)
		t.names, t.cus, t.files, t.pcs, t.funcs = part(3), part(4), part(5), part(6), part(7)
		t.ftab = t.funcs
	case goMagic116:
		t.names, t.cus, t.files, t.pcs, t.funcs = part(2), part(3), part(4), part(5), part(6)
		t.ftab = t.funcs
	default:
		t.names, t.pcs, t.funcs = b, b, b
		t.ftab = b[min(8+t.ptr, uint64(len(b))):]
	}
	if t.nfunc > maxSymbols || (t.nfunc*2+1)*t.field() > uint64(len(t.ftab)) {
		return fmt.Errorf("%d functions in %d bytes", t.nfunc, len(t.ftab))
	}
	if t.magic == goMagic12 {
		off := uint64(t.u32(t.ftab, (t.nfunc*2+1)*t.field()))
		t.files = b[min(off, uint64(len(b))):]
	}
	t.ftab = t.ftab[:(t.nfunc*2+1)*t.field()]
	return nil
}

// relative reports whether addresses are relative to the start of text, and the
// function table so made of four-byte fields.
func (t *goTable) relative() bool {
	return t.magic == goMagic118 || t.magic == goMagic120
}

// field returns the size of a field of the function table.
func (t *goTable) field() uint64 {
	if t.relative() {
		return 4
	}
	return t.ptr
}

// word reads a pointer-sized number, 0 outside of b.
func (t *goTable) word(b []byte, off uint64) uint64 {
	if off > uint64(len(b)) || uint64(len(b))-off < t.ptr {
		return 0
	}
	if t.ptr == 4 {
		return uint64(t.order.Uint32(b[off:]))
	}
	return t.order.Uint64(b[off:])
}

// u32 reads a number, 0 outside of b.
func (t *goTable) u32(b []byte, off uint64) uint32 {
	if off > uint64(len(b)) || uint64(len(b))-off < 4 {
		return 0
	}
	return t.order.Uint32(b[off:])
}
