package symbols

import (
	"debug/elf"
	"errors"
)

// Words of runtime.moduledata (runtime/symtab.go of the Go distribution), as
// they stand since Go 1.18; Go 1.20 put two words before gofunc.
const (
	moduleHeader  = 0  // pcHeader: address of the table
	moduleNames   = 1  // funcnametab: address of the names
	moduleFtabLen = 17 // ftab: length
	moduleText    = 22
	moduleGofunc  = 40
	moduleWords   = 42
)

// maxModuleData is how many places that point at the table are tried, of those
// that the file holds and of those that the loader fills in.
const maxModuleData = 8

var errNoModule = errors.New("the program's start of text was not found")

// locate finds where the code that the table describes begins, and where the
// inline trees lie. From Go 1.18 on the table says neither (the start of text in
// its header is not filled in for position-independent code, and gone from Go
// 1.26 on), so the runtime's own record of them is looked for: a structure in
// data whose first word points at the table.
func (t *goTable) locate() error {
	for _, addr := range t.modules() {
		if t.module(addr) {
			return nil
		}
	}
	if _, ok := endOf(t.image.code(), t.text); ok && t.text != 0 {
		return nil // names and lines, but no inlined calls
	}
	return errNoModule
}

// modules returns the addresses of words that point at the table once the
// program is loaded.
func (t *goTable) modules() []uint64 {
	var at []uint64
	if s, ok := t.image.section(".go.module"); ok {
		return append(at, s.addr)
	}
	for i := range t.image.segments {
		s := &t.image.segments[i]
		if s.typ != elf.PT_LOAD || s.flags&elf.PF_W == 0 {
			continue
		}
		scanWords(t.image, s.offset, min(s.filesz, maxTable), t.ptr, func(off uint64, b []byte) bool {
			if t.word(b, 0) == t.addr {
				at = append(at, s.vaddr+(off-s.offset))
			}
			return len(at) >= maxModuleData
		})
	}
	t.image.relatives(func(where, addend uint64) bool {
		if addend == t.addr {
			at = append(at, where)
		}
		return len(at) < 2*maxModuleData
	})
	return at
}

// module takes what is wanted from the moduledata at addr, if it is one.
func (t *goTable) module(addr uint64) bool {
	b, err := t.image.bytesAt(addr, moduleWords*t.ptr)
	if err != nil {
		return false
	}
	t.image.relatives(func(where, addend uint64) bool {
		if off := where - addr; off <= uint64(len(b))-t.ptr {
			if t.ptr == 8 {
				t.order.PutUint64(b[off:], addend)
			} else {
				t.order.PutUint32(b[off:], uint32(addend))
			}
		}
		return true
	})
	word := func(i uint64) uint64 { return t.word(b, i*t.ptr) }
	inTable := word(moduleNames) - t.addr
	if word(moduleHeader) != t.addr || inTable == 0 || inTable > maxTable || word(moduleFtabLen) != t.nfunc+1 {
		return false
	}
	text := word(moduleText)
	if _, ok := endOf(t.image.code(), text); !ok {
		return false
	}
	t.text, t.gofunc = text, word(moduleGofunc)
	if t.magic == goMagic118 {
		t.gofunc = word(moduleGofunc - 2)
	}
	return true
}
