package callchain

import (
	"math"

	"github.com/ringtap/ringtap/internal/callframe"
)

// Call frame instructions (DWARF 5, 6.4.2 and 7.24). The first three carry an
// operand in their low six bits.
const (
	cfaAdvanceLoc   = 0x40
	cfaOffset       = 0x80
	cfaRestore      = 0xc0
	cfaNop          = 0x00
	cfaSetLoc       = 0x01
	cfaAdvanceLoc1  = 0x02
	cfaAdvanceLoc2  = 0x03
	cfaAdvanceLoc4  = 0x04
	cfaOffsetExt    = 0x05
	cfaRestoreExt   = 0x06
	cfaUndefined    = 0x07
	cfaSameValue    = 0x08
	cfaRegister     = 0x09
	cfaRemember     = 0x0a
	cfaRestoreState = 0x0b
	cfaDefCFA       = 0x0c
	cfaDefCFAReg    = 0x0d
	cfaDefCFAOffset = 0x0e
	cfaDefCFAExpr   = 0x0f
	cfaExpression   = 0x10
	cfaOffsetExtSF  = 0x11
	cfaDefCFASF     = 0x12
	cfaDefCFAOffSF  = 0x13
	cfaValOffset    = 0x14
	cfaValOffsetSF  = 0x15
	cfaValExpr      = 0x16
	cfaNegateRAPC   = 0x2c // arm64: signed return address, with the signing pc
	cfaNegateRA     = 0x2d // arm64: toggles a signed return address
	cfaArgsSize     = 0x2e // GNU: for exception landing pads only
	cfaNegOffsetExt = 0x2f // GNU, obsolete
)

// maxRemembered bounds the stack of remembered rows. Compilers use one.
const maxRemembered = 64

// program runs the call frame instructions of a CIE or an FDE.
type program struct {
	code       reader
	cie        *callframe.CIE
	initial    row // what the CIE's instructions have left
	exprs      *exprArena
	loc        uint64 // virtual address that the row holds from on
	row        row
	remembered []row
}

// run executes all instructions and calls emit for each finished row but the
// last, which it leaves in p.row. It reports false on an instruction that is
// unknown or malformed: the rows after that are unknown too.
func (p *program) run(emit func(loc uint64, r *row)) bool {
	for p.code.left() > 0 {
		op := p.code.u8()
		low := uint64(op & 0x3f)
		switch op & 0xc0 {
		case cfaAdvanceLoc:
			p.advance(low, emit)
		case cfaOffset:
			p.row.set(low, p.offset(int64(p.code.uleb())))
		case cfaRestore:
			p.restore(low)
		default:
			if !p.extended(op, emit) {
				return false
			}
		}
		if p.code.bad {
			return false
		}
	}
	return true
}

// extended executes an instruction that has its operands behind it.
func (p *program) extended(op uint8, emit func(uint64, *row)) bool {
	c := &p.code
	switch op {
	case cfaNop, cfaNegateRA, cfaNegateRAPC:
		// Signed return addresses are stripped whether marked or not.
	case cfaSetLoc:
		loc, size, ok := p.cie.Location(c.data[c.off:])
		if !ok || loc < p.loc {
			return false
		}
		c.bytes(uint64(size))
		p.move(loc, emit)
	case cfaAdvanceLoc1:
		p.advance(uint64(c.u8()), emit)
	case cfaAdvanceLoc2:
		p.advance(uint64(c.u16()), emit)
	case cfaAdvanceLoc4:
		p.advance(uint64(c.u32()), emit)
	case cfaOffsetExt:
		p.row.set(c.uleb(), p.offset(int64(c.uleb())))
	case cfaOffsetExtSF:
		p.row.set(c.uleb(), p.offset(c.sleb()))
	case cfaNegOffsetExt:
		p.row.set(c.uleb(), p.offset(-int64(c.uleb())))
	case cfaValOffset:
		p.row.set(c.uleb(), p.valOffset(int64(c.uleb())))
	case cfaValOffsetSF:
		p.row.set(c.uleb(), p.valOffset(c.sleb()))
	case cfaRestoreExt:
		p.restore(c.uleb())
	case cfaUndefined:
		p.row.set(c.uleb(), rule{kind: ruleUndefined})
	case cfaSameValue:
		p.row.set(c.uleb(), rule{})
	case cfaRegister:
		column, from := c.uleb(), c.uleb()
		if from >= maxRegs {
			p.row.set(column, rule{kind: ruleUndefined})
			break
		}
		p.row.set(column, rule{kind: ruleRegister, val: int32(from)})
	case cfaExpression:
		column := c.uleb()
		p.row.set(column, p.expression(ruleExpr))
	case cfaValExpr:
		column := c.uleb()
		p.row.set(column, p.expression(ruleValExpr))
	case cfaRemember:
		if len(p.remembered) >= maxRemembered {
			return false
		}
		p.remembered = append(p.remembered, p.row)
	case cfaRestoreState:
		if len(p.remembered) == 0 {
			return false
		}
		p.row = p.remembered[len(p.remembered)-1]
		p.remembered = p.remembered[:len(p.remembered)-1]
	case cfaArgsSize:
		c.uleb()
	default:
		return p.define(op)
	}
	return true
}

// define executes the instructions that set the CFA's own rule.
func (p *program) define(op uint8) bool {
	c := &p.code
	cfa := &p.row.cfa
	switch op {
	case cfaDefCFA:
		reg := c.uleb()
		p.defineCFA(reg, int64(c.uleb()))
	case cfaDefCFASF:
		reg := c.uleb()
		p.defineCFA(reg, c.sleb()*p.cie.DataAlign)
	case cfaDefCFAReg:
		if cfa.kind != ruleValOffset {
			return false
		}
		p.defineCFA(c.uleb(), int64(cfa.val))
	case cfaDefCFAOffset:
		if cfa.kind != ruleValOffset {
			return false
		}
		p.defineCFA(uint64(cfa.reg), int64(c.uleb()))
	case cfaDefCFAOffSF:
		if cfa.kind != ruleValOffset {
			return false
		}
		p.defineCFA(uint64(cfa.reg), c.sleb()*p.cie.DataAlign)
	case cfaDefCFAExpr:
		*cfa = p.expression(ruleValExpr)
	default:
		return false
	}
	return true
}

func (p *program) defineCFA(reg uint64, offset int64) {
	if reg >= maxRegs || offset != int64(int32(offset)) {
		p.row.cfa = rule{kind: ruleUndefined}
		return
	}
	p.row.cfa = rule{kind: ruleValOffset, reg: uint8(reg), val: int32(offset)}
}

// offset is the rule "saved at CFA + factored offset".
func (p *program) offset(factored int64) rule {
	v := factored * p.cie.DataAlign
	if v < math.MinInt32 || v > math.MaxInt32 {
		return rule{kind: ruleUndefined}
	}
	return rule{kind: ruleOffset, val: int32(v)}
}

// valOffset is the rule "is CFA + factored offset".
func (p *program) valOffset(factored int64) rule {
	r := p.offset(factored)
	if r.kind == ruleOffset {
		r.kind = ruleValOffset
	}
	return r
}

func (p *program) expression(kind ruleKind) rule {
	return p.exprs.add(kind, p.code.bytes(p.code.uleb()))
}

func (p *program) restore(column uint64) {
	if column < maxRegs {
		p.row.set(column, p.initial.regs[column])
	}
}

func (p *program) advance(delta uint64, emit func(uint64, *row)) {
	p.move(p.loc+delta*p.cie.CodeAlign, emit)
}

func (p *program) move(loc uint64, emit func(uint64, *row)) {
	if emit != nil && loc > p.loc {
		emit(p.loc, &p.row)
	}
	p.loc = loc
}
