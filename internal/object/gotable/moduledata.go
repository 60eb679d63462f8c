package gotable

import (
	"debug/elf"
	"errors"
)

// Indices of words in runtime.moduledata (runtime/symtab.go of the Go distribution) since Go
// 1.18. Go 1.20 inserted two words before gofunc. Go 1.27 inserted three more, and put the end
// of the table after it.
const (
	moduleHeader  = 0  // pcHeader: address of the table
	moduleNames   = 1  // funcnametab: address of the names
	moduleFtabLen = 17 // ftab: length
	moduleText    = 22
	moduleBSS     = 28 // bss, ebss
	moduleGofunc  = 40
	moduleEnd     = moduleGofunc + 3 + 1
	moduleWords   = moduleEnd + 1

	// Before Go 1.27 these words are counts, which are smaller than any address.
	leastAddress = 4 << 10
)

// maxModuleData is how many words that point at the table are tried: that many in the file, and
// as many again that the loader fills in.
const maxModuleData = 8

var errNoModule = errors.New("the program's start of text was not found")

// locate finds the start of the code that the table describes, and the address of the
// functions' data. From Go 1.18 on the table lacks both: the start in its header is not filled
// in for position-independent code, and gone since Go 1.26. So locate searches for the
// runtime's moduledata, a structure in data whose first word points at the table.
func (t *Table) locate() error {
	for _, addr := range t.modules() {
		if t.module(addr) {
			return nil
		}
	}
	if t.Text != 0 && t.image.Executable(t.Text) {
		return nil // the address of functions' data stays unknown
	}
	return errNoModule
}

// modules returns the addresses of words that point at the table in the loaded program.
func (t *Table) modules() []uint64 {
	if s, ok := t.image.Section(".go.module"); ok {
		return []uint64{s.Addr}
	}
	var at []uint64
	for _, p := range segments(t.image, func(f elf.ProgFlag) bool { return f&elf.PF_W != 0 }) {
		// If a segment is cut short, its beginning may be enough.
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

// module sets the addresses from the moduledata at addr, if there is one.
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
