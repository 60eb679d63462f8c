package eval

import (
	"encoding/binary"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// truth compiles a condition. It never gets a string.
func (c *compiler) truth(e check.Expr) intFunc { return c.int(e) }

// int compiles an expression whose value is a number.
func (c *compiler) int(e check.Expr) intFunc {
	switch e := e.(type) {
	case *check.Const:
		n := e.N
		return func(*Machine) uint64 { return n }
	case *check.Local:
		slot := e.Var.Slot
		if c.late[e.Var] {
			return func(m *Machine) uint64 { return m.seen(m.vars[slot]).N }
		}
		return func(m *Machine) uint64 { return m.vars[slot].N }
	case *check.FromHit:
		i := e.Source
		return func(m *Machine) uint64 { return m.seen(m.values.Value(i)).N }
	case *check.Header:
		return c.header(e)
	case *check.Element:
		get := c.element(e)
		return func(m *Machine) uint64 {
			v, _ := get(m)
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
		return func(m *Machine) uint64 { return m.seen(f(m)).N }
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

// number returns the integer in the first size bytes of s, at most 8.
func number(s string, size int) uint64 {
	var b [8]byte
	copy(b[:size], s)
	return binary.LittleEndian.Uint64(b[:])
}

// load compiles a read of a number from memory.
func (c *compiler) load(e *check.Load) intFunc {
	addr, t, user := c.int(e.Addr), e.T, e.User
	size := 8
	if t.Size > 0 && t.Size < 8 {
		size = t.Size
	}
	buf := make([]byte, size)
	return func(m *Machine) uint64 {
		if !m.load(addr(m), user, buf) {
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
