package dwarfparam

import (
	"encoding/binary"
	"fmt"

	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/object/bytecursor"
)

// base says what the value of an expression is relative to.
type base uint8

const (
	baseNumber base = iota
	baseRegister
	baseCFA
	baseSaved // something that the function computes after its entry
)

// operand is a value on an expression's stack.
type operand struct {
	base     base
	register uint64
	offset   int64
}

// machine evaluates one expression symbolically, without a process: values are registers at the
// entry plus offsets.
type machine struct {
	*reader
	bytecursor.Cursor
	everywhere bool // the expression holds in the whole function, not only at its entry
	stack      []operand
	loc        *Location // set once the expression names a register or a value
	deref      bool
}

// run evaluates the whole expression.
func (m *machine) run(t *typ) description {
	var d description
	var offset uint64
	pieces := false
	for m.Left() > 0 && m.Err() == nil {
		op := m.U8()
		if op == opPiece {
			size := m.ULEB()
			if offset+size < offset || len(d.pieces) >= maxParts {
				return description{placement: nowhere(whyOther)}
			}
			d.pieces = append(d.pieces, piece{offset, size, m.location()})
			offset += size
			m.stack, m.loc, m.deref, pieces = m.stack[:0], nil, false, true
			continue
		}
		if !m.step(op) {
			return description{placement: nowhere(whyOther)}
		}
	}
	if m.Err() != nil {
		return description{placement: nowhere(whyOther)}
	}
	if !pieces {
		loc := m.location()
		d.byReference = m.deref
		if loc.Where == Nowhere {
			d.why = loc.Why
		} else {
			d.pieces = []piece{{0, t.size, loc}}
		}
	}
	return d
}

// step executes one operation. It returns false if the operation is unknown.
func (m *machine) step(op byte) bool {
	if m.loc != nil {
		return false // only a piece may follow
	}
	switch {
	case op >= opReg0 && op <= opReg31:
		m.register(uint64(op - opReg0))
	case op == opRegx:
		m.register(m.ULEB())
	case op >= opBreg0 && op <= opBreg31:
		m.push(operand{baseRegister, uint64(op - opBreg0), m.SLEB()})
	case op == opBregx:
		register := m.ULEB()
		m.push(operand{baseRegister, register, m.SLEB()})
	case op == opFbreg:
		m.push(m.frameBase(m.SLEB()))
	case op == opCallFrameCFA:
		m.push(operand{base: baseCFA})
	case op >= opLit0 && op <= opLit31:
		m.push(operand{offset: int64(op - opLit0)})
	case op == opConstu:
		m.push(operand{offset: int64(m.ULEB())})
	case op == opConsts:
		m.push(operand{offset: m.SLEB()})
	case op == opPlusUconst:
		m.push(operand{offset: int64(m.ULEB())})
		return m.add()
	case op == opPlus:
		return m.add()
	case op == opDeref:
		m.deref = true
	case op == opStackValue:
		m.loc = m.value()
	case op == opImplicit:
		m.Bytes(m.ULEB())
		m.loc = &Location{Why: whyKnown}
	case op == opEntryValue, op == opGNUEntryValue:
		inner := bytecursor.New(m.Bytes(m.ULEB()), 0, binary.LittleEndian)
		code := inner.U8()
		if code < opReg0 || code > opReg31 || inner.Left() > 0 {
			return false
		}
		m.push(operand{baseRegister, uint64(code - opReg0), 0})
		m.everywhere = false
	case op == opNop:
	default:
		return false
	}
	return true
}

func (m *machine) push(o operand) { m.stack = append(m.stack, o) }

func (m *machine) register(n uint64) {
	loc := m.registerLocation(n)
	m.loc = &loc
}

// add adds the top two operands. One of them must be a number.
func (m *machine) add() bool {
	n := len(m.stack)
	if n < 2 {
		return false
	}
	x, y := m.stack[n-2], m.stack[n-1]
	if x.base == baseNumber {
		x, y = y, x
	}
	if y.base != baseNumber {
		return false
	}
	x.offset += y.offset
	m.stack = append(m.stack[:n-2], x)
	return true
}

// value returns the location of a computed value (DW_OP_stack_value). The value is in a
// register if nothing was computed from it.
func (m *machine) value() *Location {
	if len(m.stack) == 0 || m.deref {
		return &Location{Why: whyOther}
	}
	switch o := m.stack[len(m.stack)-1]; {
	case o.base == baseNumber:
		return &Location{Why: whyKnown}
	case o.base == baseRegister && o.offset == 0:
		loc := m.registerLocation(o.register)
		return &loc
	}
	return &Location{Why: whyOther}
}

// location returns the location that the operations so far describe.
func (m *machine) location() Location {
	if m.loc != nil {
		return *m.loc
	}
	if len(m.stack) == 0 {
		return Location{Why: whyRemoved}
	}
	if m.deref {
		return Location{Why: whySaved}
	}
	o := m.stack[len(m.stack)-1]
	if a := m.architecture(); a != nil && o.base == baseRegister && o.register == uint64(a.SP.DWARF) {
		o = operand{baseCFA, 0, o.offset - int64(a.CallPushes)}
		if m.everywhere {
			o.base = baseSaved // the stack pointer has moved since the entry
		}
	}
	switch {
	case o.base == baseCFA && o.offset >= 0:
		return Location{Where: Stack, Offset: o.offset}
	case o.base == baseRegister && !m.everywhere:
		if loc := m.registerLocation(o.register); loc.Where == Register {
			return Location{Where: Memory, Register: loc.Register, Offset: o.offset}
		}
	case o.base == baseNumber:
		return Location{Why: whyOther}
	}
	return Location{Why: whySaved}
}

// frameBase returns the frame base plus offset. At the entry it is known only if it is the CFA.
func (m *machine) frameBase(offset int64) operand {
	if len(m.frame) == 1 && m.frame[0] == opCallFrameCFA {
		return operand{base: baseCFA, offset: offset}
	}
	return operand{base: baseSaved}
}

// registerLocation returns the location of register n. Probes can read only general registers.
func (r *reader) registerLocation(n uint64) Location {
	if m := r.architecture(); m != nil {
		if register := m.ByDWARF(int(n)); register != nil && register.Code != arch.None {
			return Location{Where: Register, Register: int(n)}
		}
	}
	return Location{Why: fmt.Sprintf("it is in register %d of DWARF, not a general one: probes can't read it", n)}
}

// architecture returns the machine of the code, or nil if it is unknown.
func (r *reader) architecture() *arch.Machine { return arch.OfELF(r.Machine) }
