package callchain

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

// DWARF expression operations (DWARF 5, 7.7.1) that occur in call frame information.
const (
	opAddr       = 0x03
	opDeref      = 0x06
	opConst1u    = 0x08
	opConst1s    = 0x09
	opConst2u    = 0x0a
	opConst2s    = 0x0b
	opConst4u    = 0x0c
	opConst4s    = 0x0d
	opConst8u    = 0x0e
	opConst8s    = 0x0f
	opConstu     = 0x10
	opConsts     = 0x11
	opDup        = 0x12
	opDrop       = 0x13
	opOver       = 0x14
	opPick       = 0x15
	opSwap       = 0x16
	opRot        = 0x17
	opAbs        = 0x19
	opAnd        = 0x1a
	opDiv        = 0x1b
	opMinus      = 0x1c
	opMod        = 0x1d
	opMul        = 0x1e
	opNeg        = 0x1f
	opNot        = 0x20
	opOr         = 0x21
	opPlus       = 0x22
	opPlusUconst = 0x23
	opShl        = 0x24
	opShr        = 0x25
	opShra       = 0x26
	opXor        = 0x27
	opBra        = 0x28
	opEq         = 0x29
	opGe         = 0x2a
	opGt         = 0x2b
	opLe         = 0x2c
	opLt         = 0x2d
	opNe         = 0x2e
	opSkip       = 0x2f
	opLit0       = 0x30 // to 0x4f
	opReg0       = 0x50 // to 0x6f
	opBreg0      = 0x70 // to 0x8f
	opRegx       = 0x90
	opBregx      = 0x92
	opDerefSize  = 0x94
	opNop        = 0x96
)

const (
	maxExprSteps = 1000 // a crafted expression may loop
	maxExprStack = 64
)

// memory is the copied stack: data[0] was at address base.
type memory struct {
	base  uint64
	data  []byte
	reads []uint32 // offsets of the words that were read
	// others is set if anything but a word in data was read.
	others bool
	size   uint8  // of a word in bytes: 8 or 4
	beyond Beyond // known memory beyond data
	reach  uint64 // where the highest read beyond data ended; 0: none
	low    uint64 // the same without reads of beyond.Top
}

// newMemory returns the memory of a stack copy that starts at base. It reuses reads.
func newMemory(m *machine, base uint64, data []byte, reads []uint32) memory {
	return memory{base: base, data: data, reads: reads[:0], size: m.word}
}

// word reads the word at addr. It returns false if the word is not completely known.
func (m *memory) word(addr uint64) (uint64, bool) {
	off := addr - m.base
	if n := uint64(len(m.data)); off >= n || n-off < uint64(m.size) {
		return m.behind(addr, uint64(m.size))
	}
	m.reads = append(m.reads, uint32(off))
	if m.size == 4 {
		return uint64(binary.LittleEndian.Uint32(m.data[off:])), true
	}
	return binary.LittleEndian.Uint64(m.data[off:]), true
}

// has reports whether the byte at addr is known.
func (m *memory) has(addr uint64) bool {
	return addr-m.base < uint64(len(m.data)) || m.beyond.at(addr, 1) != nil
}

// sized reads an unsigned number of size bytes: 1, 2, 4 or 8.
func (m *memory) sized(addr uint64, size uint8) (uint64, bool) {
	off := addr - m.base
	if n := uint64(len(m.data)); off >= n || n-off < uint64(size) || size == 0 || size > 8 || size&(size-1) != 0 {
		return m.behind(addr, uint64(size))
	}
	m.others = true
	var word [8]byte
	copy(word[:], m.data[off:off+uint64(size)])
	return binary.LittleEndian.Uint64(word[:]), true
}

// behind reads up to 8 bytes beyond the copy.
func (m *memory) behind(addr, size uint64) (uint64, bool) {
	if addr < m.base || m.beyond.Empty() {
		return 0, false
	}
	b := m.beyond.at(addr, size)
	if b == nil {
		return 0, false
	}
	if m.others, m.reach = true, max(m.reach, addr+size); addr < m.beyond.Top.From {
		m.low = max(m.low, addr+size)
	}
	var word [8]byte
	copy(word[:], b)
	return binary.LittleEndian.Uint64(word[:]), true
}

// evaluator runs DWARF expressions over registers and the copied stack. The Unwinder reuses
// one, so that its stack is not allocated each time.
type evaluator struct {
	regs  *Regs
	mem   *memory
	code  bytecursor.Cursor
	stack [maxExprStack]uint64
	n     int
	bad   bool
	// outside is the address that a failed run could not read; zero if it
	// failed for another reason.
	outside uint64
}

// run evaluates code with the pushed values on the stack at the start; for register rules that
// is the CFA. It reports false if the expression is malformed, reads unknown memory or an
// unknown register, or does not end within maxExprSteps.
func (e *evaluator) run(code []byte, pushed ...uint64) (uint64, bool) {
	e.code = bytecursor.New(code, 0, binary.LittleEndian)
	e.n, e.bad, e.outside = copy(e.stack[:], pushed), false, 0
	for steps := 0; e.code.Left() > 0; steps++ {
		if steps == maxExprSteps {
			return 0, false
		}
		e.step(e.code.U8())
		if e.bad || e.code.Err() != nil {
			return 0, false
		}
	}
	v := e.pop()
	return v, !e.bad
}

func (e *evaluator) push(v uint64) {
	if e.n == maxExprStack {
		e.bad = true
		return
	}
	if e.mem.size == 4 {
		v = uint64(uint32(v))
	}
	e.stack[e.n] = v
	e.n++
}

// signed sign-extends a number from the machine's word size.
func (e *evaluator) signed(v uint64) int64 {
	if e.mem.size == 4 {
		return int64(int32(v))
	}
	return int64(v)
}

func (e *evaluator) pop() uint64 {
	if e.n == 0 {
		e.bad = true
		return 0
	}
	e.n--
	return e.stack[e.n]
}

// pick pushes a copy of the value that is depth entries below the top.
func (e *evaluator) pick(depth int) {
	if depth >= e.n {
		e.bad = true
		return
	}
	e.push(e.stack[e.n-1-depth])
}

func (e *evaluator) register(column uint64, offset int64) {
	if column >= maxRegs || !e.regs.has(uint8(column)) {
		e.bad = true
		return
	}
	e.push(e.regs.v[column] + uint64(offset))
}

func (e *evaluator) load(size uint8) {
	addr := e.pop()
	v, ok := e.mem.sized(addr, size)
	if !ok {
		e.bad, e.outside = true, addr
	}
	e.push(v)
}

// jump moves by the operand, a signed distance from the operand's end, if taken.
func (e *evaluator) jump(taken bool) {
	to := int(int16(e.code.U16()))
	if !taken {
		return
	}
	if to += int(e.code.Offset()); to < 0 || to > int(e.code.Offset()+e.code.Left()) {
		e.bad = true
		return
	}
	e.code.Seek(uint64(to))
}

// step executes one operation.
func (e *evaluator) step(op uint8) {
	switch {
	case op >= opLit0 && op < opReg0:
		e.push(uint64(op - opLit0))
		return
	case op >= opReg0 && op < opBreg0:
		e.register(uint64(op-opReg0), 0)
		return
	case op >= opBreg0 && op < opRegx:
		e.register(uint64(op-opBreg0), e.code.SLEB())
		return
	}
	switch op {
	case opNop:
	case opAddr:
		e.push(e.code.Uint(int(e.mem.size)))
	case opConst8u, opConst8s:
		e.push(e.code.U64())
	case opConst1u:
		e.push(uint64(e.code.U8()))
	case opConst1s:
		e.push(uint64(int64(int8(e.code.U8()))))
	case opConst2u:
		e.push(uint64(e.code.U16()))
	case opConst2s:
		e.push(uint64(int64(int16(e.code.U16()))))
	case opConst4u:
		e.push(uint64(e.code.U32()))
	case opConst4s:
		e.push(uint64(int64(int32(e.code.U32()))))
	case opConstu:
		e.push(e.code.ULEB())
	case opConsts:
		e.push(uint64(e.code.SLEB()))
	case opRegx:
		e.register(e.code.ULEB(), 0)
	case opBregx:
		column := e.code.ULEB()
		e.register(column, e.code.SLEB())
	case opDeref:
		e.load(e.mem.size)
	case opDerefSize:
		e.load(e.code.U8())
	case opDup:
		e.pick(0)
	case opOver:
		e.pick(1)
	case opPick:
		e.pick(int(e.code.U8()))
	case opDrop:
		e.pop()
	case opSkip:
		e.jump(true)
	case opBra:
		e.jump(e.pop() != 0)
	default:
		e.compute(op)
	}
}
