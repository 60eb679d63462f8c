package symbols

import "sort"

// entry returns the address of function i; that of function nfunc is the end.
func (t *goTable) entry(i uint64) uint64 {
	if t.relative() {
		return t.text + uint64(t.u32(t.ftab, i*8))
	}
	return t.word(t.ftab, i*2*t.ptr)
}

// goFunc is the description of one function.
type goFunc struct {
	entry     uint64
	name      uint32
	pcfile    uint32 // offsets into pcs
	pcline    uint32
	cu        uint32
	startLine int
	inlIndex  uint32 // pc table: index into the inline tree, 0 when there is none
	inlTree   uint32 // offset from gofunc
	hasTree   bool
}

// Indexes of what the runtime keeps for inlined calls (internal/abi/symtab.go).
const (
	pcdataInlTreeIndex = 2
	funcdataInlTree    = 3
)

// fn decodes the description of function i (runtime2.go, type _func): entry,
// name, args, deferreturn, pcsp, pcfile, pcline, npcdata, unit, from Go 1.20 on
// the start line, and four bytes of which the last is nfuncdata.
func (t *goTable) fn(i uint64) goFunc {
	f := goFunc{entry: t.entry(i)}
	off := t.word(t.ftab, (i*2+1)*t.ptr)
	if t.relative() {
		off = uint64(t.u32(t.ftab, i*8+4))
	}
	if off > uint64(len(t.funcs)) {
		return f
	}
	b := t.funcs[off:]
	first := t.field() // bytes of the entry
	field := func(n uint64) uint32 { return t.u32(b, first+n*4) }
	f.name, f.pcfile, f.pcline, f.cu = field(0), field(4), field(5), field(7)
	npcdata := uint64(field(6))
	if !t.relative() {
		return f
	}
	last := first + 8*4
	if t.magic == goMagic120 {
		f.startLine = int(int32(field(8)))
		last += 4
	}
	if last+4 > uint64(len(b)) {
		return f
	}
	nfuncdata := uint64(b[last+3])
	if npcdata > pcdataInlTreeIndex && nfuncdata > funcdataInlTree {
		f.inlIndex = t.u32(b, last+4+pcdataInlTreeIndex*4)
		f.inlTree = t.u32(b, last+4+npcdata*4+funcdataInlTree*4)
		f.hasTree = f.inlTree != 0 && f.inlTree != 0xffffffff && f.inlIndex != 0
	}
	return f
}

// find returns the index of the function that holds addr.
func (t *goTable) find(addr uint64) (uint64, bool) {
	i := uint64(sort.Search(int(t.nfunc)+1, func(i int) bool { return t.entry(uint64(i)) > addr }))
	if i == 0 || i > t.nfunc {
		return 0, false
	}
	return i - 1, true
}

// addGoTable collects the functions of t.
func (b *builder) addGoTable(t *goTable) error {
	source, err := b.source(t.names)
	if err != nil {
		return err
	}
	for i := range t.nfunc {
		f := t.fn(i)
		name := cbytes(t.names, uint64(f.name), maxSymbolName)
		end := t.entry(i + 1)
		if end <= f.entry {
			continue
		}
		const rank = rankFunction | rankCurrent | rankExported | rankStrong
		if err := b.add(source, f.name, len(name), f.entry, end-f.entry, rank); err != nil {
			return err
		}
	}
	return nil
}
