package callchain

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// Magic numbers of Go's pclntab, little-endian (internal/abi/symtab.go). Older
// layouts than that of Go 1.18 are not read.
const (
	magicGo118 = 0xfffffff0
	magicGo120 = 0xfffffff1
)

// Offsets within the function record (runtime._func).
const (
	funcPCSP = 16
	funcFlag = 41
	funcSize = 44
)

// Flags of the function record (internal/abi.FuncFlag).
const (
	goTopFrame = 1 << 0 // the outermost function of its stack
	goSPWrite  = 1 << 1 // moves to another stack: the table can't say where
)

// goTable is Go's own function table.
type goTable struct {
	arch    Arch
	text    uint64 // virtual address that entries count from
	n       int    // functions
	quantum uint64 // bytes of the smallest instruction
	funcs   []byte // functab, then the function records
	pctab   []byte // delta-encoded pc-value tables
}

// findGoTable reads the table of a Go binary; nil for any other.
func findGoTable(f *elf.File, arch Arch) (*goTable, error) {
	s := f.Section(".gopclntab")
	if s == nil {
		s = f.Section(".data.rel.ro.gopclntab")
	}
	if s == nil || s.Type == elf.SHT_NOBITS {
		return nil, nil
	}
	data, err := sectionData(s)
	if err != nil {
		return nil, err
	}
	t, err := parseGoTable(data, arch)
	if err != nil {
		return nil, fmt.Errorf("read Go function table: %w", err)
	}
	if t.text == 0 {
		if text := f.Section(".text"); text != nil {
			t.text = text.Addr
		}
	}
	return t, nil
}

// parseGoTable reads the header (runtime.pcHeader).
func parseGoTable(data []byte, arch Arch) (*goTable, error) {
	r := reader{data: data}
	magic := r.u32()
	pad := r.u16()
	t := &goTable{arch: arch, quantum: uint64(r.u8())}
	ptrSize := r.u8()
	n := r.u64()
	r.u64() // number of files
	t.text = r.u64()
	r.u64() // names
	r.u64() // compilation units
	r.u64() // files
	pctab, funcs := r.u64(), r.u64()
	if r.bad || magic != magicGo118 && magic != magicGo120 || pad != 0 || ptrSize != 8 ||
		t.quantum == 0 || t.quantum > 4 {
		return nil, fmt.Errorf("header %#x is not of a known version", magic)
	}
	size := uint64(len(data))
	if pctab > size || funcs > size || n > (size-funcs)/8 {
		return nil, fmt.Errorf("%d functions do not fit in %d bytes", n, size)
	}
	t.n = int(n)
	t.pctab, t.funcs = data[pctab:], data[funcs:]
	return t, nil
}

// each calls add with the virtual addresses of every function.
func (t *goTable) each(add func(index int, start, end uint64)) {
	for i := range t.n {
		// The entry after the last function is the end of the text.
		if len(t.funcs) < i*8+12 {
			return
		}
		start := binary.LittleEndian.Uint32(t.funcs[i*8:])
		end := binary.LittleEndian.Uint32(t.funcs[i*8+8:])
		if start < end {
			add(i, t.text+uint64(start), t.text+uint64(end))
		}
	}
}

// compile decodes the function's pcsp table, which says how far the stack
// pointer is below its value at entry (cmd/link/internal/ld/pcln.go and
// runtime.step), and adds a row for each step.
func (t *goTable) compile(b *builder, f *function) {
	at := uint64(binary.LittleEndian.Uint32(t.funcs[f.index*8+4:]))
	if at+funcSize > uint64(len(t.funcs)) {
		b.add(f.start, 0)
		return
	}
	record := t.funcs[at:]
	switch flags := record[funcFlag]; {
	case flags&goTopFrame != 0:
		b.add(f.start, b.set(&row{regs: outermost(t.arch)}, describe(t.arch).ra, false))
		return
	case flags&goSPWrite != 0:
		b.add(f.start, 0)
		return
	}
	pcsp := binary.LittleEndian.Uint32(record[funcPCSP:])
	if pcsp == 0 || uint64(pcsp) >= uint64(len(t.pctab)) {
		b.add(f.start, 0)
		return
	}
	r := reader{data: t.pctab, off: int(pcsp)}
	delta := int32(-1)
	for pc := f.start; pc < f.end; {
		change := uint32(r.uleb())
		if change == 0 && pc != f.start {
			break
		}
		delta += int32(change>>1) ^ -int32(change&1)
		step := r.uleb() * t.quantum
		if r.bad || delta < 0 || step == 0 || step > f.end-pc {
			b.add(pc, 0)
			return
		}
		b.add(pc, b.goSet(t.arch, delta))
		pc += step
	}
}

// outermost gives the rules of a function that has no caller.
func outermost(a Arch) (regs [maxRegs]rule) {
	regs[describe(a).ra] = rule{kind: ruleUndefined}
	return regs
}

// goSet gives the rules that hold where the stack pointer is delta below its
// value at entry.
func (b *builder) goSet(a Arch, delta int32) uint16 {
	m := describe(a)
	r := row{cfa: rule{kind: ruleValOffset, reg: m.sp, val: delta}}
	switch {
	case a == AMD64:
		// call pushed the return address. The first thing that is pushed below
		// it, in a function that has a frame, is the caller's rbp.
		r.cfa.val += 8
		r.set(uint64(m.ra), rule{kind: ruleOffset, val: -8})
		if delta >= 8 {
			r.set(uint64(m.fp), rule{kind: ruleOffset, val: -16})
		}
	case delta > 0:
		// The link register is saved at the lowest word of the frame, x29 in
		// the word below it.
		r.set(uint64(m.ra), rule{kind: ruleOffset, val: -delta})
		r.set(uint64(m.fp), rule{kind: ruleOffset, val: -delta - 8})
	}
	return b.set(&r, m.ra, false)
}
