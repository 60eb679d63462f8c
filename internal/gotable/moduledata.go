package gotable

import (
	"debug/elf"
	"errors"
)

// Words of runtime.moduledata (runtime/symtab.go of the Go distribution), as
// they stand since Go 1.18; Go 1.20 put two words before gofunc, and Go 1.27 three
// more, with the end of the table behind it.
const (
	moduleHeader  = 0  // pcHeader: address of the table
	moduleNames   = 1  // funcnametab: address of the names
	moduleFtabLen = 17 // ftab: length
	moduleText    = 22
	moduleBSS     = 28 // bss, ebss
	moduleGofunc  = 40
	moduleEnd     = moduleGofunc + 3 + 1
	moduleWords   = moduleEnd + 1

	// What lies in these words before Go 1.27 are counts, smaller than any address.
	leastAddress = 4 << 10
)

// maxModuleData is how many places that point at the table are tried, of those
// that the file holds and of those that the loader fills in.
const maxModuleData = 8

var errNoModule = errors.New("the program's start of text was not found")

// locate finds where the code that the table describes begins, and where the
// functions' data lies. From Go 1.18 on the table says neither (the start of text
// in its header is not filled in for position-independent code, and gone from Go
// 1.26 on), so the runtime's own record of them is looked for: a structure in
// data whose first word points at the table.
func (t *Table) locate() error {
	for _, addr := range t.modules() {
		if t.module(addr) {
			return nil
		}
	}
	if t.Text != 0 && t.image.Executable(t.Text) {
		return nil // but functions' data is not known
	}
	return errNoModule
}

// modules returns the addresses of words that point at the table once the
// program is loaded.
func (t *Table) modules() []uint64 {
	if s, ok := t.image.Section(".go.module"); ok {
		return []uint64{s.Addr}
	}
	var at []uint64
	for _, p := range segments(t.image, func(f elf.ProgFlag) bool { return f&elf.PF_W != 0 }) {
		// Of a segment that is cut short the beginning may do.
		_ = scan(t.image, p, t.ptr, func(off uint64, b []byte) bool {
			if t.number(b, 0) == t.addr {
				at = append(at, p.vaddr+(off-p.offset))
			}
			return len(at) >= maxModuleData
		})
	}
	t.image.Relatives(func(where, addend uint64) bool {
		if addend == t.addr {
			at = append(at, where)
		}
		return len(at) < 2*maxModuleData
	})
	return at
}

// module takes what is wanted from the moduledata at addr, if it is one.
func (t *Table) module(addr uint64) bool {
	b, err := t.image.BytesAt(addr, moduleWords*t.ptr)
	if err != nil {
		return false
	}
	t.image.Relatives(func(where, addend uint64) bool {
		if off := where - addr; off <= uint64(len(b))-t.ptr {
			if t.ptr == 8 {
				t.order.PutUint64(b[off:], addend)
			} else {
				t.order.PutUint32(b[off:], uint32(addend))
			}
		}
		return true
	})
	word := func(i uint64) uint64 { return t.number(b, i*t.ptr) }
	inTable := word(moduleNames) - t.addr
	if word(moduleHeader) != t.addr || inTable == 0 || inTable > maxTable || word(moduleFtabLen) != t.Len+1 ||
		!t.image.Executable(word(moduleText)) {
		return false
	}
	t.Text, t.GoFunc = word(moduleText), word(moduleGofunc)
	t.BSS, t.BSSEnd = word(moduleBSS), word(moduleBSS+1)
	switch end := word(moduleEnd) - t.addr; {
	case t.Version == Go118:
		t.GoFunc = word(moduleGofunc - 2)
	case word(moduleEnd-1) >= leastAddress && end > inTable && end <= maxTable:
		t.GoFunc = word(moduleEnd - 1)
	}
	return true
}
