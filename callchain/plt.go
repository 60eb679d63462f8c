package callchain

import "debug/elf"

// addPLT adds the procedure linkage table: short code for calls into other objects. GNU ld
// describes it in .eh_frame, other linkers do not.
func (t *Table) addPLT() {
	for _, name := range []string{".plt", ".plt.sec", ".plt.got", ".iplt"} {
		s, ok := t.file.Section(name)
		if !ok || s.Type != elf.SHT_PROGBITS {
			continue
		}
		f := function{source: fromPLT, index: pltDirect}
		if name == ".plt" {
			f.index = pltLazy
			if _, ok := t.file.Section(".plt.sec"); ok {
				f.index = pltLazyMarked
			}
		}
		t.addFixed(f, s.Addr, s.Addr+s.Size)
	}
}

// Forms of a linkage table, kept in function.index.
const (
	pltDirect     = iota // entries only jump
	pltLazy              // entries may push a number and jump to the table's head, which calls the dynamic linker
	pltLazyMarked        // the same, but each entry starts with an endbr
)

// pltEntry is the size in bytes of an entry on amd64 and i386, and of the table's head.
const pltEntry = 16

// plt adds the rows of a linkage table.
func (b *builder) plt(f *function) {
	m := describe(b.arch)
	word := int32(m.word)
	r := row{cfa: rule{kind: ruleValOffset, reg: m.sp}}
	from := func(offset uint64, cfa rule) {
		r.cfa = cfa
		b.add(f.start+offset, b.set(&r, m.ra, 0))
	}
	above := func(bytes int32) rule { return rule{kind: ruleValOffset, reg: m.sp, val: bytes} }
	switch {
	case b.arch == ARM64:
		from(0, above(0))
		if f.index != pltDirect {
			// The head begins with stp x16, x30, [sp, #-16]!.
			r.set(uint64(m.ra), rule{kind: ruleOffset, val: -8})
			from(4, above(16))
			r.set(uint64(m.ra), rule{})
			from(32, above(0))
		}
	case f.index == pltDirect:
		r.set(uint64(m.ra), rule{kind: ruleOffset, val: -word})
		from(0, above(word))
	default:
		r.set(uint64(m.ra), rule{kind: ruleOffset, val: -word})
		from(0, above(2*word)) // the entry has pushed its number
		from(6, above(3*word)) // and the head its object
		pushed := byte(11)     // offset in an entry after: jmp *slot; push number
		if f.index == pltLazyMarked {
			pushed = 9 // endbr; push number
		}
		// The CFA is one word above the stack pointer, and one more if the low bits of the pc
		// are past the push.
		from(pltEntry, b.exprs.add(ruleValExpr, []byte{opBreg0 + m.sp, m.word, opBreg0 + m.pc, 0,
			opLit0 + 15, opAnd, opLit0 + pushed, opGe, opLit0 + m.word, opMul, opPlus}))
	}
}
