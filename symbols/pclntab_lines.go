package symbols

// Limits of what a table may make a lookup do.
const (
	maxInlined = 64      // depth of inlined calls
	maxPCSteps = 1 << 18 // pairs of one pc-value table
)

// lines returns the source positions of addr, the innermost inlined function
// first (runtime/symtabinl.go): the inline index at an address names an entry
// of the tree, and that entry the address of the call that was inlined, where
// the index is looked up again.
func (t *goTable) lines(addr uint64) []Line {
	i, ok := t.find(addr)
	if !ok {
		return nil
	}
	f := t.fn(i)
	if end := t.entry(i + 1); end <= addr {
		return nil
	}
	var lines []Line
	at := addr
	for len(lines) < maxInlined {
		l := t.position(&f, at)
		call, ok := t.inlined(&f, at)
		if !ok {
			l.Function = cstring(t.names, uint64(f.name), maxSymbolName)
			l.StartLine = f.startLine
			return append(lines, l)
		}
		l.Function = cstring(t.names, uint64(call.name), maxSymbolName)
		l.StartLine = call.startLine
		lines = append(lines, l)
		at = f.entry + uint64(call.parent)
	}
	return lines
}

// goInlined is an entry of an inline tree.
type goInlined struct {
	name, parent uint32
	startLine    int
}

// inlined returns the inlined call that addr in f belongs to. An entry is, from
// Go 1.20 on: function id, name, address of the call, start line, four bytes
// each. Before it was: parent and id, file, line, name, address of the call.
func (t *goTable) inlined(f *goFunc, addr uint64) (goInlined, bool) {
	if !f.hasTree || t.gofunc == 0 {
		return goInlined{}, false
	}
	index := t.value(f.inlIndex, f.entry, addr)
	if index < 0 {
		return goInlined{}, false
	}
	size := uint64(16)
	if t.magic == goMagic118 {
		size = 20
	}
	b, err := t.image.bytesAt(t.gofunc+uint64(f.inlTree)+uint64(index)*size, size)
	if err != nil {
		return goInlined{}, false
	}
	if t.magic == goMagic118 {
		return goInlined{name: t.u32(b, 12), parent: t.u32(b, 16)}, true
	}
	return goInlined{name: t.u32(b, 4), parent: t.u32(b, 8), startLine: int(int32(t.u32(b, 12)))}, true
}

// position returns the file and line of addr.
func (t *goTable) position(f *goFunc, addr uint64) Line {
	var l Line
	if line := t.value(f.pcline, f.entry, addr); line > 0 {
		l.Line = int(line)
	}
	file := t.value(f.pcfile, f.entry, addr)
	switch {
	case file < 0:
	case t.magic == goMagic12:
		l.File = cstring(t.names, uint64(t.u32(t.files, uint64(file)*4)), maxSymbolName)
	default:
		if off := t.u32(t.cus, (uint64(f.cu)+uint64(file))*4); off != 0xffffffff {
			l.File = cstring(t.files, uint64(off), maxSymbolName)
		}
	}
	return l
}

// value looks addr up in a pc-value table: pairs of varints, the difference of
// the value in zigzag form and that of the address in quanta, ended by a zero.
// It returns -1 when the table does not say.
func (t *goTable) value(off uint32, entry, addr uint64) int32 {
	if off == 0 || uint64(off) >= uint64(len(t.pcs)) {
		return -1
	}
	b := t.pcs[off:]
	value, pc := int32(-1), entry
	for step := range maxPCSteps {
		var v, d uint32
		var ok bool
		if v, b, ok = goVarint(b); !ok || v == 0 && step > 0 {
			return -1
		}
		value += int32(-(v & 1) ^ (v >> 1))
		if d, b, ok = goVarint(b); !ok {
			return -1
		}
		if pc += uint64(d) * t.quantum; addr < pc {
			return value
		}
	}
	return -1
}

func goVarint(b []byte) (v uint32, rest []byte, ok bool) {
	for i := 0; i < len(b) && i < 5; i++ {
		v |= uint32(b[i]&0x7f) << (7 * i)
		if b[i]&0x80 == 0 {
			return v, b[i+1:], true
		}
	}
	return 0, nil, false
}
