package callframe

import (
	"encoding/binary"
	"errors"
)

// Op is an instruction's operation on the current row of rules.
type Op uint8

// The operations of call frame programs (DWARF 5, 6.4.2). Instructions that differ only in the
// encoding of their operands are one operation.
const (
	Nothing       Op = iota // no change
	Move                    // the row is finished; the next one starts at Value
	Saved                   // Column is saved at CFA + Value
	Is                      // Column is CFA + Value
	Copied                  // Column is in the register of column Value
	Undefined               // Column can't be recovered
	Same                    // Column is unchanged
	SavedExpr               // Column is saved at the address that Expr computes
	IsExpr                  // Column is the value that Expr computes
	Restore                 // Column gets back the rule from the CIE
	Remember                // push the row
	Recall                  // pop the row pushed last
	CFA                     // the CFA is register Column + Value
	CFARegister             // the CFA is based on Column, at the same distance
	CFAOffset               // the CFA is at distance Value from the same register
	CFAExpression           // the CFA is the value that Expr computes
)

// Instruction is one call frame instruction with its operands.
type Instruction struct {
	Op     Op
	Column uint64 // of a register
	Value  int64  // bytes, a column, or a virtual address; see Op
	Expr   []byte // a slice of the program's bytes
}

// Program iterates over the instructions of a CIE or of a function.
type Program struct {
	code reader
	cie  *CIE
	loc  uint64
}

// Instructions returns a Program for the instructions of a CIE, or of a function with that CIE
// that starts at start. For a CIE not read by a Section, it assumes a little-endian file with
// 8-byte addresses.
func (c *CIE) Instructions(program []byte, start uint64) Program {
	order, word := c.as.Order(), c.as.word
	if order == nil {
		order, word = binary.LittleEndian, 8
	}
	return Program{code: newReader(program, order, word), cie: c, loc: start}
}

// errInstruction is the error of a Program at an instruction that is unknown or malformed.
var errInstruction = errors.New("unknown or malformed instruction")

// Bad reports whether Next stopped at an unknown or malformed instruction. The rows from there
// on are unknown.
func (p *Program) Bad() bool { return p.code.Err() != nil }

// Next reads the next instruction into i. It returns false at the end.
func (p *Program) Next(i *Instruction) bool {
	c := &p.code
	if c.Left() == 0 {
		return false
	}
	op := c.U8()
	low := uint64(op & 0x3f)
	switch op & 0xc0 {
	case 0x40: // DW_CFA_advance_loc
		p.move(i, p.loc+low*p.cie.CodeAlign)
	case 0x80: // DW_CFA_offset
		*i = Instruction{Op: Saved, Column: low, Value: p.factored(int64(c.ULEB()))}
	case 0xc0: // DW_CFA_restore
		*i = Instruction{Op: Restore, Column: low}
	default:
		p.extended(op, i)
	}
	return c.Err() == nil
}

// extended reads an instruction whose operands follow it.
func (p *Program) extended(op uint8, i *Instruction) {
	c := &p.code
	*i = Instruction{}
	switch op {
	case 0x00, 0x2c, 0x2d: // DW_CFA_nop; arm64's marks of signed return addresses, which are always stripped
	case 0x01: // DW_CFA_set_loc
		// We lack the base of a relative address. Compilers use advance_loc there instead.
		loc := c.pointer(p.cie.pointers, 0, 0)
		if p.cie.pointers&0x70 != encAbsolute || loc < p.loc {
			c.Fail(errInstruction)
		}
		p.move(i, loc)
	case 0x02: // DW_CFA_advance_loc1, 2, 4
		p.move(i, p.loc+c.Uint(1)*p.cie.CodeAlign)
	case 0x03:
		p.move(i, p.loc+c.Uint(2)*p.cie.CodeAlign)
	case 0x04:
		p.move(i, p.loc+c.Uint(4)*p.cie.CodeAlign)
	case 0x05, 0x14: // DW_CFA_offset_extended, val_offset
		i.Op, i.Column, i.Value = saved(op == 0x14), c.ULEB(), p.factored(int64(c.ULEB()))
	case 0x11, 0x15: // DW_CFA_offset_extended_sf, val_offset_sf
		i.Op, i.Column, i.Value = saved(op == 0x15), c.ULEB(), p.factored(c.SLEB())
	case 0x2f: // DW_CFA_GNU_negative_offset_extended, obsolete
		i.Op, i.Column, i.Value = Saved, c.ULEB(), p.factored(-int64(c.ULEB()))
	case 0x06: // DW_CFA_restore_extended
		i.Op, i.Column = Restore, c.ULEB()
	case 0x07: // DW_CFA_undefined
		i.Op, i.Column = Undefined, c.ULEB()
	case 0x08: // DW_CFA_same_value
		i.Op, i.Column = Same, c.ULEB()
	case 0x09: // DW_CFA_register
		i.Op, i.Column, i.Value = Copied, c.ULEB(), int64(c.ULEB())
	case 0x0a: // DW_CFA_remember_state
		i.Op = Remember
	case 0x0b: // DW_CFA_restore_state
		i.Op = Recall
	case 0x0c: // DW_CFA_def_cfa
		i.Op, i.Column, i.Value = CFA, c.ULEB(), int64(c.ULEB())
	case 0x0d: // DW_CFA_def_cfa_register
		i.Op, i.Column = CFARegister, c.ULEB()
	case 0x0e: // DW_CFA_def_cfa_offset
		i.Op, i.Value = CFAOffset, int64(c.ULEB())
	case 0x0f: // DW_CFA_def_cfa_expression
		i.Op, i.Expr = CFAExpression, c.Bytes(c.ULEB())
	case 0x10: // DW_CFA_expression
		i.Op, i.Column, i.Expr = SavedExpr, c.ULEB(), c.Bytes(c.ULEB())
	case 0x12: // DW_CFA_def_cfa_sf
		i.Op, i.Column, i.Value = CFA, c.ULEB(), p.factored(c.SLEB())
	case 0x13: // DW_CFA_def_cfa_offset_sf
		i.Op, i.Value = CFAOffset, p.factored(c.SLEB())
	case 0x16: // DW_CFA_val_expression
		i.Op, i.Column, i.Expr = IsExpr, c.ULEB(), c.Bytes(c.ULEB())
	case 0x2e: // DW_CFA_GNU_args_size, only for exception landing pads
		c.ULEB()
	default:
		c.Fail(errInstruction)
	}
}

// saved returns Is for a val_offset instruction, and Saved for an offset instruction.
func saved(is bool) Op {
	if is {
		return Is
	}
	return Saved
}

func (p *Program) move(i *Instruction, to uint64) {
	p.loc = to
	*i = Instruction{Op: Move, Value: int64(to)}
}

// factored converts a factored offset to bytes.
func (p *Program) factored(n int64) int64 { return n * p.cie.DataAlign }
