package dwarfparam

import (
	"debug/elf"
	"fmt"
)

// base is what a value of an expression counts from.
type base uint8

const (
	baseNumber base = iota
	baseRegister
	baseCFA
	baseSaved // something that the function makes after its entry
)

// operand is a value on the stack of an expression.
type operand struct {
	base     base
	register uint64
	offset   int64
}

// machine evaluates one expression without a process: its values are registers
// as they are at the entry, and what is added to them.
type machine struct {
	*reader
	cursor
	everywhere bool // the expression is for all of the function, not of its entry only
	stack      []operand
	loc        *Location // of a register or a value, when that is said
	deref      bool
}

// run evaluates to the end.
func (m *machine) run(t *typ) description {
	var d description
	var offset uint64
	pieces := false
	for len(m.b) > 0 && m.ok() {
		op := m.u8()
		if op == opPiece {
			size := m.uleb()
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
	if !m.ok() {
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

// step executes an operation; false when it is not known.
func (m *machine) step(op byte) bool {
	if m.loc != nil {
		return false // nothing but a piece goes on behind these
	}
	switch {
	case op >= opReg0 && op <= opReg31:
		m.register(uint64(op - opReg0))
	case op == opRegx:
		m.register(m.uleb())
	case op >= opBreg0 && op <= opBreg31:
		m.push(operand{baseRegister, uint64(op - opBreg0), m.sleb()})
	case op == opBregx:
		register := m.uleb()
		m.push(operand{baseRegister, register, m.sleb()})
	case op == opFbreg:
		m.push(m.frameBase(m.sleb()))
	case op == opCallFrameCFA:
		m.push(operand{base: baseCFA})
	case op >= opLit0 && op <= opLit31:
		m.push(operand{offset: int64(op - opLit0)})
	case op == opConstu:
		m.push(operand{offset: int64(m.uleb())})
	case op == opConsts:
		m.push(operand{offset: m.sleb()})
	case op == opPlusUconst:
		m.push(operand{offset: int64(m.uleb())})
		return m.add()
	case op == opPlus:
		return m.add()
	case op == opDeref:
		m.deref = true
	case op == opStackValue:
		m.loc = m.value()
	case op == opImplicit:
		m.bytes(m.uleb())
		m.loc = &Location{Why: whyKnown}
	case op == opEntryValue, op == opGNUEntryValue:
		inner := cursor{b: m.bytes(m.uleb())}
		code := inner.u8()
		if code < opReg0 || code > opReg31 || len(inner.b) > 0 {
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

// add adds the upper two operands, one of which must be a number.
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

// value is the location of a value that was computed: it is in a register if
// nothing was computed.
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

// location is what the operations so far say.
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
	if o.base == baseRegister && o.register == m.stackPointer() {
		o = operand{baseCFA, 0, o.offset - m.returnAddress()}
		if m.everywhere {
			o.base = baseSaved // the stack pointer has moved where this holds
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

// frameBase counts from the frame base, which is known at the entry only when it
// is the CFA.
func (m *machine) frameBase(offset int64) operand {
	if len(m.frame) == 1 && m.frame[0] == opCallFrameCFA {
		return operand{base: baseCFA, offset: offset}
	}
	return operand{base: baseSaved}
}

// registerLocation names a register; only general ones can be read by probes.
func (r *reader) registerLocation(n uint64) Location {
	general := uint64(16)
	if r.Machine == elf.EM_AARCH64 {
		general = 31
	}
	if n < general {
		return Location{Where: Register, Register: int(n)}
	}
	return Location{Why: fmt.Sprintf("it is in register %d of DWARF, not a general one: probes can't read it", n)}
}

func (r *reader) stackPointer() uint64 {
	if r.Machine == elf.EM_AARCH64 {
		return 31
	}
	return 7
}

// returnAddress is how many bytes of it a call pushes.
func (r *reader) returnAddress() int64 {
	if r.Machine == elf.EM_X86_64 {
		return 8
	}
	return 0
}
