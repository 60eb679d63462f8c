package dwarfparam

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"fmt"
)

// Operations of DWARF expressions (DWARF 5 section 7.7.1).
const (
	opDeref         = 0x06
	opConstu        = 0x10
	opConsts        = 0x11
	opPlus          = 0x22
	opPlusUconst    = 0x23
	opLit0          = 0x30
	opLit31         = 0x4f
	opReg0          = 0x50
	opReg31         = 0x6f
	opBreg0         = 0x70
	opBreg31        = 0x8f
	opRegx          = 0x90
	opFbreg         = 0x91
	opBregx         = 0x92
	opPiece         = 0x93
	opNop           = 0x96
	opCallFrameCFA  = 0x9c
	opImplicit      = 0x9e
	opStackValue    = 0x9f
	opEntryValue    = 0xa3
	opGNUEntryValue = 0xf3
)

// Why a description does not hold at the entry.
const (
	whyUnknown = "the compiler has not recorded where it is"
	whySaved   = "it is described by where the function saves it"
	whyRemoved = "the compiler removed it"
	whyKnown   = "the compiler knows its value and does not pass it"
	whyOther   = "its description is more than a place"
)

// description is what an expression says of a value.
type description struct {
	placement
	byReference bool // the value is behind an address that the function saves
}

// describe evaluates the location of a parameter at the entry.
func (r *reader) describe(f *formal) description {
	e := f.concrete
	if e.Has(dwarf.AttrConstValue) {
		return description{placement: nowhere(whyKnown)}
	}
	expr, everywhere, err := e.Location(dwarf.AttrLocation, r.entry)
	switch {
	case err != nil:
		return description{placement: nowhere(err.Error())}
	case len(expr) == 0 && !e.Has(dwarf.AttrLocation):
		return description{placement: nowhere(whyRemoved)}
	case len(expr) == 0:
		return description{placement: nowhere(whyUnknown)}
	}
	m := machine{reader: r, everywhere: everywhere, cursor: cursor{b: expr}}
	return m.run(f.typ)
}

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

// cursor reads the bytes of an expression. After the first failure all is zero.
type cursor struct {
	b      []byte
	failed bool
}

func (c *cursor) ok() bool { return !c.failed }

func (c *cursor) bytes(n uint64) []byte {
	if n > uint64(len(c.b)) {
		c.b, c.failed = nil, true
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *cursor) u8() byte {
	if b := c.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) uleb() uint64 {
	v, n := binary.Uvarint(c.b)
	c.bytes(uint64(max(n, 0)))
	c.failed = c.failed || n <= 0
	return v
}

func (c *cursor) sleb() int64 {
	var v int64
	for shift := uint(0); shift < 64; shift += 7 {
		b := c.u8()
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			if b&0x40 != 0 && shift < 57 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	c.failed = true
	return 0
}
