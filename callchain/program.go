package callchain

import (
	"math"

	"github.com/ringtap/ringtap/internal/object/callframe"
)

// maxRemembered bounds the stack of remembered rows. Compilers use one.
const maxRemembered = 64

// program runs the call frame instructions of a CIE or an FDE.
type program struct {
	code       callframe.Program
	initial    row // the row after the CIE's instructions
	exprs      *exprArena
	loc        uint64 // virtual address where row starts to hold
	row        row
	remembered []row
}

// run executes all instructions. It calls emit for each finished row except the last, which
// stays in p.row. emit may be nil. It reports false at an unknown or malformed instruction: the
// rows after that are unknown too.
func (p *program) run(emit func(loc uint64, r *row)) bool {
	var i callframe.Instruction
	for p.code.Next(&i) {
		if i.Op == callframe.Move {
			p.move(uint64(i.Value), emit)
		} else if !p.execute(&i) {
			return false
		}
	}
	return !p.code.Bad()
}

// execute executes an instruction that changes the row.
func (p *program) execute(i *callframe.Instruction) bool {
	switch i.Op {
	case callframe.Saved:
		p.row.set(i.Column, offset(ruleOffset, i.Value))
	case callframe.Is:
		p.row.set(i.Column, offset(ruleValOffset, i.Value))
	case callframe.Copied:
		from := rule{kind: ruleRegister, val: int32(i.Value)}
		if uint64(i.Value) >= maxRegs {
			from = rule{kind: ruleUndefined}
		}
		p.row.set(i.Column, from)
	case callframe.Undefined:
		p.row.set(i.Column, rule{kind: ruleUndefined})
	case callframe.Same:
		p.row.set(i.Column, rule{})
	case callframe.SavedExpr:
		p.row.set(i.Column, p.exprs.add(ruleExpr, i.Expr))
	case callframe.IsExpr:
		p.row.set(i.Column, p.exprs.add(ruleValExpr, i.Expr))
	case callframe.Restore:
		if i.Column < maxRegs {
			p.row.set(i.Column, p.initial.regs[i.Column])
		}
	case callframe.Remember:
		if len(p.remembered) >= maxRemembered {
			return false
		}
		p.remembered = append(p.remembered, p.row)
	case callframe.Recall:
		last := len(p.remembered) - 1
		if last < 0 {
			return false
		}
		p.row, p.remembered = p.remembered[last], p.remembered[:last]
	case callframe.CFA:
		p.row.cfa = base(i.Column, i.Value)
	case callframe.CFARegister, callframe.CFAOffset:
		cfa := p.row.cfa
		if cfa.kind != ruleValOffset {
			return false
		}
		if i.Op == callframe.CFARegister {
			p.row.cfa = base(i.Column, int64(cfa.val))
		} else {
			p.row.cfa = base(uint64(cfa.reg), i.Value)
		}
	case callframe.CFAExpression:
		p.row.cfa = p.exprs.add(ruleValExpr, i.Expr)
	}
	return true
}

// base returns the rule of a CFA at a distance from a register.
func base(reg uint64, distance int64) rule {
	if reg >= maxRegs || distance != int64(int32(distance)) {
		return rule{kind: ruleUndefined}
	}
	return rule{kind: ruleValOffset, reg: uint8(reg), val: int32(distance)}
}

// offset returns a rule with a distance in bytes from the CFA.
func offset(kind ruleKind, bytes int64) rule {
	if bytes < math.MinInt32 || bytes > math.MaxInt32 {
		return rule{kind: ruleUndefined}
	}
	return rule{kind: kind, val: int32(bytes)}
}

func (p *program) move(loc uint64, emit func(uint64, *row)) {
	if emit != nil && loc > p.loc {
		emit(p.loc, &p.row)
	}
	p.loc = loc
}
