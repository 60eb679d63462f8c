package callframe

import "encoding/binary"

// Op is what an Instruction does to the row of rules that is under way.
type Op uint8

// The operations of call frame programs (DWARF 5, 6.4.2). Several instructions, which differ
// in how their operands are written, are one operation.
const (
	Nothing       Op = iota // to rules
	Move                    // the row is finished; Value is where the next one holds from on
	Saved                   // Column is saved at CFA + Value
	Is                      // Column is CFA + Value
	Copied                  // Column is in the register of column Value
	Undefined               // Column can't be recovered
	Same                    // Column is unchanged
	SavedExpr               // Column is saved at the address that Expr gives
	IsExpr                  // Column is what Expr gives
	Restore                 // Column has the rule that the CIE gave it
	Remember                // the row
	Recall                  // the row that was remembered last
	CFA                     // is the register Column + Value
	CFARegister             // is Column, at the distance of before
	CFAOffset               // is at the distance Value from the register of before
	CFAExpression           // is what Expr gives
)

// Instruction is one call frame instruction with its operands.
type Instruction struct {
	Op     Op
	Column uint64 // of a register
	Value  int64  // bytes, a column, or a virtual address; see Op
	Expr   []byte // the file's
}

// Program is the instructions of a CIE or of a function.
type Program struct {
	code reader
	cie  *CIE
	loc  uint64
}

// Instructions reads those of a CIE, or of a function that has it and begins at start. A CIE
// that no Section has read is of a little-endian file with addresses of 8 bytes.
func (c *CIE) Instructions(program []byte, start uint64) Program {
	p := Program{code: c.as, cie: c, loc: start}
	p.code.data = program
	if p.code.order == nil {
		p.code.order, p.code.word = binary.LittleEndian, 8
	}
	return p
}

// Bad tells that Next has ended at an instruction that is unknown or malformed: what the
// rows are from there on is not known.
func (p *Program) Bad() bool { return p.code.bad }

// Next reads the next instruction; false at the end.
func (p *Program) Next(i *Instruction) bool {
	c := &p.code
	if c.bad || c.off >= len(c.data) {
		return false
	}
	op := c.u8()
	low := uint64(op & 0x3f)
	switch op & 0xc0 {
	case 0x40: // DW_CFA_advance_loc
		p.move(i, p.loc+low*p.cie.CodeAlign)
	case 0x80: // DW_CFA_offset
		*i = Instruction{Op: Saved, Column: low, Value: p.factored(int64(c.uleb()))}
	case 0xc0: // DW_CFA_restore
		*i = Instruction{Op: Restore, Column: low}
	default:
		p.extended(op, i)
	}
	return !c.bad
}

// extended reads an instruction that has its operands behind it.
func (p *Program) extended(op uint8, i *Instruction) {
	c := &p.code
	*i = Instruction{}
	switch op {
	case 0x00, 0x2c, 0x2d: // DW_CFA_nop; arm64's marks of signed return addresses, which are stripped whether marked or not
	case 0x01: // DW_CFA_set_loc
		// A relative address counts from .eh_frame's, where compilers advance instead.
		loc := c.pointer(p.cie.pointers, 0, 0)
		c.bad = c.bad || p.cie.pointers&0x70 != encAbsolute || loc < p.loc
		p.move(i, loc)
	case 0x02: // DW_CFA_advance_loc1, 2, 4
		p.move(i, p.loc+c.unsigned(1)*p.cie.CodeAlign)
	case 0x03:
		p.move(i, p.loc+c.unsigned(2)*p.cie.CodeAlign)
	case 0x04:
		p.move(i, p.loc+c.unsigned(4)*p.cie.CodeAlign)
	case 0x05, 0x14: // DW_CFA_offset_extended, val_offset
		i.Op, i.Column, i.Value = saved(op == 0x14), c.uleb(), p.factored(int64(c.uleb()))
	case 0x11, 0x15: // DW_CFA_offset_extended_sf, val_offset_sf
		i.Op, i.Column, i.Value = saved(op == 0x15), c.uleb(), p.factored(c.sleb())
	case 0x2f: // DW_CFA_GNU_negative_offset_extended, obsolete
		i.Op, i.Column, i.Value = Saved, c.uleb(), p.factored(-int64(c.uleb()))
	case 0x06: // DW_CFA_restore_extended
		i.Op, i.Column = Restore, c.uleb()
	case 0x07: // DW_CFA_undefined
		i.Op, i.Column = Undefined, c.uleb()
	case 0x08: // DW_CFA_same_value
		i.Op, i.Column = Same, c.uleb()
	case 0x09: // DW_CFA_register
		i.Op, i.Column, i.Value = Copied, c.uleb(), int64(c.uleb())
	case 0x0a: // DW_CFA_remember_state
		i.Op = Remember
	case 0x0b: // DW_CFA_restore_state
		i.Op = Recall
	case 0x0c: // DW_CFA_def_cfa
		i.Op, i.Column, i.Value = CFA, c.uleb(), int64(c.uleb())
	case 0x0d: // DW_CFA_def_cfa_register
		i.Op, i.Column = CFARegister, c.uleb()
	case 0x0e: // DW_CFA_def_cfa_offset
		i.Op, i.Value = CFAOffset, int64(c.uleb())
	case 0x0f: // DW_CFA_def_cfa_expression
		i.Op, i.Expr = CFAExpression, c.bytes(c.uleb())
	case 0x10: // DW_CFA_expression
		i.Op, i.Column, i.Expr = SavedExpr, c.uleb(), c.bytes(c.uleb())
	case 0x12: // DW_CFA_def_cfa_sf
		i.Op, i.Column, i.Value = CFA, c.uleb(), p.factored(c.sleb())
	case 0x13: // DW_CFA_def_cfa_offset_sf
		i.Op, i.Value = CFAOffset, p.factored(c.sleb())
	case 0x16: // DW_CFA_val_expression
		i.Op, i.Column, i.Expr = IsExpr, c.uleb(), c.bytes(c.uleb())
	case 0x2e: // DW_CFA_GNU_args_size, for the landing pads of exceptions only
		c.uleb()
	default:
		c.bad = true
	}
}

// saved is the operation of an offset, which the register is saved at or is itself.
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

// factored is an offset in bytes.
func (p *Program) factored(n int64) int64 { return n * p.cie.DataAlign }
