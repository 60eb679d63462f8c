package gotable

import "errors"

var errNoData = errors.New("function has no such data")

// Func is the table's description of one function: numbers and offsets as in the file. Missing
// ones are zero.
type Func struct {
	Entry, End uint64 // addresses; End is the next function's entry

	t *Table
	b part // the description, after its entry field
}

// Func returns function i. After the entry, its description has these fields of four bytes:
// name, args, deferreturn, pcsp, pcfile, pcline, npcdata, unit, and from Go 1.20 on the start
// line. From Go 1.18 on, one-byte fields follow: funcID, flag, a zero, nfuncdata. Then come the
// offsets of npcdata pc-value tables and of nfuncdata data (runtime/runtime2.go, type _func).
func (t *Table) Func(i uint64) Func {
	f := Func{Entry: t.Entry(i), End: t.Entry(i + 1), t: t}
	off := t.word(t.index, (i*2+1)*t.ptr)
	if t.relative() {
		off = uint64(t.u32(t.index, i*8+4))
	}
	if skip := off + t.field(); off <= skip && skip <= t.funcs.size {
		f.b = t.funcs.from(skip)
	}
	return f
}

func (f *Func) word(i uint64) uint32 { return f.t.u32(f.b, i*4) }

// Name returns the offset for Table.Name.
func (f *Func) Name() uint32 { return f.word(0) }

// SP, File and Line return the offsets of pc-value tables: of the stack pointer's distance in
// bytes below its value at entry, of the file's number for Path, and of the line.
func (f *Func) SP() uint32   { return f.word(3) }
func (f *Func) File() uint32 { return f.word(4) }
func (f *Func) Line() uint32 { return f.word(5) }

// Path returns the path of a file, cut to limit bytes, or nil if there is none. file is a value
// of the table File.
func (f *Func) Path(file int32, limit int) []byte {
	t := f.t
	paths, off := t.files, uint32(0xffffffff)
	switch {
	case file < 0:
	case t.Version == Go12:
		paths, off = t.names, t.u32(t.files, uint64(file)*4)
	default:
		off = t.u32(t.units, (uint64(f.word(7))+uint64(file))*4)
	}
	return paths.text(uint64(off), uint64(limit))
}

// StartLine returns the line of the func keyword, or 0 before Go 1.20.
func (f *Func) StartLine() int {
	if f.t.Version != Go120 {
		return 0
	}
	return int(int32(f.word(8)))
}

// Flags of a function (internal/abi.FuncFlag).
const (
	TopFrame = 1 << 0 // the outermost function of its stack
	SPWrite  = 1 << 1 // moves to another stack: the table can't say to which
)

// ID is the number that the runtime gives to functions that its tracebacks treat specially
// (internal/abi.FuncID). All other functions have zero.
type ID uint8

// IDs that are the same in every Go release since 1.17.
const (
	AsmCgoCall  ID = 2
	CgoCallback ID = 4
)

// last returns the offset of the four one-byte fields, and whether they are known.
func (f *Func) last() (uint64, bool) {
	at := uint64(8 * 4)
	if f.t.Version == Go120 {
		at += 4
	}
	return at, f.t.relative() && at+4 <= f.b.size
}

// Flags returns the flags. ok is false in tables before Go 1.18 and in malformed ones.
func (f *Func) Flags() (flags uint8, ok bool) {
	at, ok := f.last()
	if !ok {
		return 0, false
	}
	return f.b.u8(at + 1), true
}

// ID returns the function's number. ok is false in the same cases as for Flags.
func (f *Func) ID() (id ID, ok bool) {
	at, ok := f.last()
	if !ok {
		return 0, false
	}
	return ID(f.b.u8(at)), true
}

// PCData returns the offset of the function's i'th other pc-value table. It returns 0 if there
// is none or the table is older than Go 1.18.
func (f *Func) PCData(i uint32) uint32 {
	at, ok := f.last()
	if !ok || i >= f.word(6) {
		return 0
	}
	return f.t.u32(f.b, at+4+uint64(i)*4)
}

// Data reads n bytes of the function's i'th data (FUNCDATA), starting at an offset in it. It
// returns an error if there is no such data, or its address is unknown.
func (f *Func) Data(i uint32, offset, n uint64) ([]byte, error) {
	at, ok := f.last()
	if !ok || i >= uint32(f.b.u8(at+3)) || f.t.GoFunc == 0 {
		return nil, errNoData
	}
	data := f.t.u32(f.b, at+4+(uint64(f.word(6))+uint64(i))*4)
	if data == 0 || data == 0xffffffff {
		return nil, errNoData
	}
	return f.t.image.BytesAt(f.t.GoFunc+uint64(data)+offset, n)
}
