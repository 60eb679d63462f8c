package eval

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/script/check"
	"github.com/ringtap/ringtap/internal/script/types"
	"github.com/ringtap/ringtap/internal/script/value"
)

// truth compiles a condition. Strings do not get here.
func (c *compiler) truth(e check.Expr) intFunc { return c.int(e) }

// int compiles an expression that is a number.
func (c *compiler) int(e check.Expr) intFunc {
	switch e := e.(type) {
	case *check.Const:
		n := e.N
		return func(*Machine) uint64 { return n }
	case *check.Local:
		slot := e.Var.Slot
		return func(m *Machine) uint64 { return m.vars[slot].N }
	case *check.FromHit:
		i := e.Source
		return func(m *Machine) uint64 { return m.values.Value(i).N }
	case *check.Header:
		return c.header(e)
	case *check.Element:
		key, at := c.key(e), c.m.Maps[e.Map.Index]
		return func(m *Machine) uint64 {
			v, _ := at.Get(key(m))
			return v.N
		}
	case *check.Unary:
		return c.unary(e)
	case *check.Binary:
		return c.binary(e)
	case *check.Increment:
		return c.increment(e)
	case *check.Cond:
		cond, a, b := c.truth(e.C), c.int(e.A), c.int(e.B)
		return func(m *Machine) uint64 {
			if cond(m) != 0 {
				return a(m)
			}
			return b(m)
		}
	case *check.Convert:
		return c.convertInt(e)
	case *check.Load:
		return c.load(e)
	case *check.Part:
		return c.partInt(e)
	case *check.Call:
		return c.callInt(e)
	case *check.BlockExpr:
		body, result := c.block(e.Body), c.int(e.Result)
		return func(m *Machine) uint64 {
			body(m)
			return result(m)
		}
	}
	if f := c.place(e); f != nil {
		return func(m *Machine) uint64 { return f(m).N }
	}
	c.fail(e)
	return func(*Machine) uint64 { return 0 }
}

func (c *compiler) header(e *check.Header) intFunc {
	cpus, child := uint64(c.m.opts.CPUs), uint64(c.m.opts.Child)
	switch e.Name {
	case "pid":
		return func(m *Machine) uint64 { return uint64(m.hit.PID) }
	case "tid":
		return func(m *Machine) uint64 { return uint64(m.hit.TID) }
	case "cpu":
		return func(m *Machine) uint64 { return uint64(m.hit.CPU) }
	case "elapsed":
		return func(m *Machine) uint64 { return m.hit.Time - m.start }
	case "rand":
		return func(m *Machine) uint64 { return uint64(m.rand.Uint32()) }
	case "ncpus":
		return func(*Machine) uint64 { return cpus }
	case "cpid":
		return func(*Machine) uint64 { return child }
	case "nsecs":
		mode := e.Mode
		if mode == "monotonic" {
			return func(m *Machine) uint64 { return m.hit.Time }
		}
		return func(m *Machine) uint64 { return m.opts.Host.Clock(mode, m.hit.Time) }
	}
	c.fail(e)
	return func(*Machine) uint64 { return 0 }
}

func (c *compiler) unary(e *check.Unary) intFunc {
	x := c.int(e.X)
	switch e.Op {
	case "!":
		return func(m *Machine) uint64 { return truth(x(m) == 0) }
	case "-":
		return func(m *Machine) uint64 { return -x(m) }
	}
	return func(m *Machine) uint64 { return ^x(m) }
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func less(x, y uint64, signed bool) bool {
	if signed {
		return int64(x) < int64(y)
	}
	return x < y
}

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

// binaryConst is an operation with a constant on the right.
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

// divide is a division or a remainder of unsigned numbers. By 0, master's result is 1 with a
// warning. 0.17 leaves it to BPF, where a division by 0 is 0 and a remainder the dividend.
func (c *compiler) divide(e *check.Binary, x, y intFunc) intFunc {
	rest, pos, old := e.Op == "%", e.Pos, c.m.opts.Dialect == check.V017
	return func(m *Machine) uint64 {
		a, b := x(m), y(m)
		switch {
		case b == 0 && old && rest:
			return a
		case b == 0 && old:
			return 0
		case b == 0:
			m.once(pos, "divide or modulo by 0: 1 is used as the result")
			return 1
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
	key, at := c.key(el), c.m.Maps[el.Map.Index]
	return func(m *Machine) uint64 {
		p := at.Number(key(m))
		if p == nil {
			return 0
		}
		old := *p
		*p = wrap(old + by)
		if post {
			return old
		}
		return *p
	}
}

func (c *compiler) convertInt(e *check.Convert) intFunc {
	from, t := e.X.Type(), e.T
	if text(from) {
		s := c.text(e.X)
		if t.Kind == types.Bool {
			return func(m *Machine) uint64 { return truth(cString(s(m)) != "") }
		}
		return func(m *Machine) uint64 { return check.Wrap(number(s(m), 8), t) }
	}
	x := c.int(e.X)
	switch {
	case t.Kind == types.Bool:
		return func(m *Machine) uint64 { return truth(x(m) != 0) }
	case t.Kind == types.USym:
		return func(m *Machine) uint64 { return m.opts.Host.UserAddress(m.hit, x(m)) }
	case t.Kind == types.Int && t.Size < 8:
		return func(m *Machine) uint64 { return check.Wrap(x(m), t) }
	}
	return x
}

// number returns the integer of up to so many bytes at the start of s.
func number(s string, size int) uint64 {
	var b [8]byte
	copy(b[:size], s)
	return binary.LittleEndian.Uint64(b[:])
}

// load reads a number from memory.
func (c *compiler) load(e *check.Load) intFunc {
	addr, t, user := c.int(e.Addr), e.T, e.User
	size := 8
	if t.Size > 0 && t.Size < 8 {
		size = t.Size
	}
	buf := make([]byte, size)
	return func(m *Machine) uint64 {
		if !m.opts.Host.Read(m.hit, addr(m), user, buf) {
			return 0
		}
		n := number(string(buf), size)
		if t.Kind == types.Int {
			n = check.Wrap(n, t)
		}
		return n
	}
}

func (c *compiler) partInt(e *check.Part) intFunc {
	if e.Bits > 0 && numeric(e.X.Type()) {
		x, shift, width, signed := c.int(e.X), e.BitOffset, e.Bits, e.T.Signed
		return func(m *Machine) uint64 {
			n := x(m) >> shift << (64 - width)
			if signed {
				return uint64(int64(n) >> (64 - width))
			}
			return n >> (64 - width)
		}
	}
	field := types.Field{Type: e.T, Offset: e.Offset, BitOffset: e.BitOffset, Bits: e.Bits}
	s := c.text(e.X)
	if e.Index == nil {
		return func(m *Machine) uint64 { return value.LoadField(field, s(m)).N }
	}
	index, size, t := c.int(e.Index), uint64(max(e.T.Size, 1)), e.T
	return func(m *Machine) uint64 {
		b, i := s(m), index(m)
		if i >= uint64(len(b)) || i*size >= uint64(len(b)) {
			return 0
		}
		return value.Load(t, b[i*size:]).N
	}
}
