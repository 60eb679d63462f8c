package callchain

// compute executes the operations of a DWARF expression that only change the
// stack. Comparisons, division and abs are signed, mod and shr are not
// (DWARF 5, 2.5.1.4).
func (e *evaluator) compute(op uint8) {
	switch op {
	case opAbs:
		if v := e.signed(e.pop()); v < 0 {
			e.push(uint64(-v))
		} else {
			e.push(uint64(v))
		}
		return
	case opNeg:
		e.push(-e.pop())
		return
	case opNot:
		e.push(^e.pop())
		return
	case opPlusUconst:
		e.push(e.pop() + e.code.ULEB())
		return
	case opRot:
		// The top moves below the two values under it.
		a, b, c := e.pop(), e.pop(), e.pop()
		e.push(a)
		e.push(c)
		e.push(b)
		return
	}
	b, a := e.pop(), e.pop()
	switch op {
	case opSwap:
		e.push(b)
		e.push(a)
	case opAnd:
		e.push(a & b)
	case opOr:
		e.push(a | b)
	case opXor:
		e.push(a ^ b)
	case opPlus:
		e.push(a + b)
	case opMinus:
		e.push(a - b)
	case opMul:
		e.push(a * b)
	case opDiv, opMod:
		e.divide(op, a, b)
	case opShl:
		e.push(a << b)
	case opShr:
		e.push(a >> b)
	case opShra:
		e.push(uint64(e.signed(a) >> b))
	case opEq:
		e.truth(a == b)
	case opNe:
		e.truth(a != b)
	case opGe:
		e.truth(e.signed(a) >= e.signed(b))
	case opGt:
		e.truth(e.signed(a) > e.signed(b))
	case opLe:
		e.truth(e.signed(a) <= e.signed(b))
	case opLt:
		e.truth(e.signed(a) < e.signed(b))
	default:
		e.bad = true
	}
}

func (e *evaluator) divide(op uint8, a, b uint64) {
	switch {
	case b == 0:
		e.bad = true
	case op == opDiv:
		e.push(uint64(e.signed(a) / e.signed(b)))
	default:
		e.push(a % b)
	}
}

func (e *evaluator) truth(v bool) {
	if v {
		e.push(1)
	} else {
		e.push(0)
	}
}
