package eval

import (
	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

func (c *compiler) binary(e *check.Binary) intFunc {
	switch {
	case e.Op == "&&":
		x, y := c.truth(e.X), c.truth(e.Y)
		return func(m *Machine) uint64 { return truth(x(m) != 0 && y(m) != 0) }
	case e.Op == "||":
		x, y := c.truth(e.X), c.truth(e.Y)
		return func(m *Machine) uint64 { return truth(x(m) != 0 || y(m) != 0) }
	case text(e.X.Type()):
		return c.compareText(e)
	case !numeric(e.X.Type()):
		return c.compareTuples(e)
	}
	x := c.int(e.X)
	if k, ok := e.Y.(*check.Const); ok {
		return c.binaryConst(e, x, k.N)
	}
	y := c.int(e.Y)
	signed := e.X.Type().Signed
	switch e.Op {
	case "+":
		return func(m *Machine) uint64 { return x(m) + y(m) }
	case "-":
		return func(m *Machine) uint64 { return x(m) - y(m) }
	case "*":
		return func(m *Machine) uint64 { return x(m) * y(m) }
	case "&":
		return func(m *Machine) uint64 { return x(m) & y(m) }
	case "|":
		return func(m *Machine) uint64 { return x(m) | y(m) }
	case "==":
		return func(m *Machine) uint64 { return truth(x(m) == y(m)) }
	case "!=":
		return func(m *Machine) uint64 { return truth(x(m) != y(m)) }
	case "<":
		return func(m *Machine) uint64 { return truth(less(x(m), y(m), signed)) }
	case ">":
		return func(m *Machine) uint64 { a := x(m); return truth(less(y(m), a, signed)) }
	case "/", "%":
		return c.divide(e, x, y)
	}
	op := e.Op
	return func(m *Machine) uint64 {
		a := x(m)
		return check.Arithmetic(op, a, y(m), signed)
	}
}

// binaryConst compiles an operation with a constant on the right.
func (c *compiler) binaryConst(e *check.Binary, x intFunc, k uint64) intFunc {
	signed := e.X.Type().Signed
	switch e.Op {
	case "+":
		return func(m *Machine) uint64 { return x(m) + k }
	case "-":
		return func(m *Machine) uint64 { return x(m) - k }
	case "&":
		return func(m *Machine) uint64 { return x(m) & k }
	case "==":
		return func(m *Machine) uint64 { return truth(x(m) == k) }
	case "!=":
		return func(m *Machine) uint64 { return truth(x(m) != k) }
	case "<":
		return func(m *Machine) uint64 { return truth(less(x(m), k, signed)) }
	case ">":
		return func(m *Machine) uint64 { return truth(less(k, x(m), signed)) }
	case "/", "%":
		if k == 0 {
			return c.divide(e, x, func(*Machine) uint64 { return 0 })
		}
	}
	op := e.Op
	return func(m *Machine) uint64 { return check.Arithmetic(op, x(m), k, signed) }
}

// divide compiles a division or remainder of unsigned numbers. In BPF, x / 0 is 0 and x % 0 is x,
// and 0.17 uses that without a warning. In the current release both are 1.
func (c *compiler) divide(e *check.Binary, x, y intFunc) intFunc {
	rest, pos, dialect := e.Op == "%", e.Pos, c.m.opts.Dialect
	return func(m *Machine) uint64 {
		a, b := x(m), y(m)
		switch {
		case b == 0:
			result, name := uint64(1), "1"
			if dialect.DividesByZero() {
				result, name = 0, "0"
				if rest {
					result, name = a, "the dividend"
				}
			}
			if dialect != check.V017 {
				m.once(pos, "divide or modulo by 0: "+name+" is used as the result")
			}
			return result
		case rest:
			return a % b
		}
		return a / b
	}
}

func (c *compiler) compareText(e *check.Binary) intFunc {
	x, y := c.text(e.X), c.text(e.Y)
	switch e.Op {
	case "==":
		return func(m *Machine) uint64 { return truth(x(m) == y(m)) }
	case "!=":
		return func(m *Machine) uint64 { return truth(x(m) != y(m)) }
	case "<":
		return func(m *Machine) uint64 { return truth(x(m) < y(m)) }
	case "<=":
		return func(m *Machine) uint64 { return truth(x(m) <= y(m)) }
	case ">":
		return func(m *Machine) uint64 { return truth(x(m) > y(m)) }
	}
	return func(m *Machine) uint64 { return truth(x(m) >= y(m)) }
}

func (c *compiler) compareTuples(e *check.Binary) intFunc {
	x, y, want := c.value(e.X), c.value(e.Y), e.Op == "=="
	return func(m *Machine) uint64 {
		a := x(m)
		return truth(same(a, y(m)) == want)
	}
}

func same(a, b value.Value) bool {
	if a.N != b.N || a.S != b.S || len(a.T) != len(b.T) {
		return false
	}
	for i := range a.T {
		if !same(a.T[i], b.T[i]) {
			return false
		}
	}
	return true
}

func (c *compiler) increment(e *check.Increment) intFunc {
	by, post, t := uint64(e.By), e.Post, e.T
	wrap := func(n uint64) uint64 { return n }
	if t.Kind == types.Int && t.Size < 8 {
		wrap = func(n uint64) uint64 { return check.Wrap(n, t) }
	}
	if l, ok := e.Target.(*check.Local); ok {
		slot := l.Var.Slot
		return func(m *Machine) uint64 {
			old := m.vars[slot].N
			m.vars[slot].N = wrap(old + by)
			if post {
				return old
			}
			return m.vars[slot].N
		}
	}
	el := e.Target.(*check.Element)
	key, at, late := c.key(el), c.m.Maps[el.Map.Index], c.mayHaveLateKey(el)
	return func(m *Machine) uint64 {
		k := key(m)
		p := at.Number(k)
		if p == nil {
			return 0
		}
		if late && m.lateKey {
			at.MarkKey(k)
		}
		if at.IsLate(k) {
			m.late = true
		}
		old := *p
		*p = wrap(old + by)
		if post {
			return old
		}
		return *p
	}
}
