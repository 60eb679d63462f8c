package printfmt

import (
	"cmp"

	"github.com/ringtap/ringtap/internal/text/cexpr"
)

// binaryNode is the operation a op b.
type binaryNode struct {
	op   string
	a, b node
}

func (n *binaryNode) eval(raw []byte) value {
	a := n.a.eval(raw)
	switch n.op {
	case "&&", "||":
		return n.logic(a, raw)
	}
	b := n.b.eval(raw)
	if a.kind == unknown || b.kind == unknown {
		return value{}
	}
	if a.kind == memory || b.kind == memory {
		return n.address(a, b)
	}
	return n.arithmetic(a, b)
}

// logic evaluates the second operand only if the first does not decide.
func (n *binaryNode) logic(a value, raw []byte) value {
	yes, ok := a.truth()
	if ok && yes == (n.op == "||") {
		return boolean(yes, true)
	}
	other, otherOK := n.b.eval(raw).truth()
	if otherOK && other == (n.op == "||") {
		return boolean(other, true)
	}
	return boolean(other, ok && otherOK)
}

// address handles operations in which one operand is an address in the record: the address of
// an element, and comparisons with NULL.
func (n *binaryNode) address(a, b value) value {
	if n.op == "+" && a.kind == number {
		a, b = b, a
	}
	if a.kind != memory || b.kind != number {
		return value{}
	}
	switch n.op {
	case "+":
		size := uint64(a.typ.Size)
		if size == 0 || b.number > uint64(len(a.memory))/size {
			return value{}
		}
		a.memory = a.memory[b.number*size:]
		return a
	case "==":
		return boolean(false, b.number == 0)
	case "!=":
		return boolean(true, b.number == 0)
	}
	return value{}
}

func (n *binaryNode) arithmetic(a, b value) value {
	if a.typ.Pointer || b.typ.Pointer {
		return n.pointer(a, b)
	}
	t := cexpr.Common(a.typ, b.typ)
	switch n.op {
	case "<<":
		t = a.typ.Promote()
		return numberOf(a.number<<(b.number&uint64(8*t.Size-1)), t)
	case ">>":
		t = a.typ.Promote()
		count := b.number & uint64(8*t.Size-1)
		if t.Signed {
			return numberOf(uint64(int64(a.number)>>count), t)
		}
		return numberOf(a.number>>count, t)
	}
	return calculate(n.op, t.Convert(a.number), t.Convert(b.number), t)
}

// pointer calculates with kernel addresses that are only numbers to us. Offsets count elements;
// if the element size is unknown, so is the result.
func (n *binaryNode) pointer(a, b value) value {
	t := cexpr.ULong
	if n.op == "+" || n.op == "-" {
		size := func(v value) uint64 {
			if v.typ.Pointer && v.typ.Element != nil {
				return uint64(v.typ.Element.Size)
			}
			return 0
		}
		switch {
		case a.typ.Pointer && !b.typ.Pointer && size(a) > 0:
			b.number *= size(a)
			t = a.typ
		case b.typ.Pointer && !a.typ.Pointer && size(b) > 0 && n.op == "+":
			a.number *= size(b)
			t = b.typ
		default:
			return value{}
		}
	}
	return calculate(n.op, a.number, b.number, t)
}

func calculate(op string, x, y uint64, t cexpr.Type) value {
	order := cmp.Compare(x, y)
	if t.Signed {
		order = cmp.Compare(int64(x), int64(y))
	}
	switch op {
	case "+":
		return numberOf(x+y, t)
	case "-":
		return numberOf(x-y, t)
	case "*":
		return numberOf(x*y, t)
	case "&":
		return numberOf(x&y, t)
	case "|":
		return numberOf(x|y, t)
	case "^":
		return numberOf(x^y, t)
	case "==":
		return boolean(order == 0, true)
	case "!=":
		return boolean(order != 0, true)
	case "<":
		return boolean(order < 0, true)
	case "<=":
		return boolean(order <= 0, true)
	case ">":
		return boolean(order > 0, true)
	case ">=":
		return boolean(order >= 0, true)
	case "/", "%":
		return divide(op, x, y, t)
	}
	return value{}
}

func divide(op string, x, y uint64, t cexpr.Type) value {
	switch {
	case y == 0:
		return value{}
	case op == "/" && t.Signed:
		return numberOf(uint64(int64(x)/int64(y)), t)
	case op == "/":
		return numberOf(x/y, t)
	case t.Signed:
		return numberOf(uint64(int64(x)%int64(y)), t)
	}
	return numberOf(x%y, t)
}
