package callchain

import (
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
