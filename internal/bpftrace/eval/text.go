package eval

import (
	"math"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// text compiles an expression whose value consists of bytes.
func (c *compiler) text(e check.Expr) textFunc {
	switch e := e.(type) {
	case *check.Const:
		s := e.S
		return func(*Machine) string { return s }
	case *check.Local:
		slot := e.Var.Slot
		return func(m *Machine) string { return m.seen(m.vars[slot]).S }
	case *check.Header:
		if e.Name == "comm" {
			return func(m *Machine) string { return m.values.Comm() }
		}
		return func(m *Machine) string { return m.hit.Probe }
	case *check.FromHit:
		i := e.Source
		return func(m *Machine) string { return m.seen(m.values.Value(i)).S }
	case *check.Cond:
		cond, a, b := c.truth(e.C), c.text(e.A), c.text(e.B)
		return func(m *Machine) string {
			if cond(m) != 0 {
				return a(m)
			}
			return b(m)
		}
	case *check.Convert:
		return c.convertText(e)
	case *check.Load:
		addr, t, user := c.int(e.Addr), e.T, e.User
		return func(m *Machine) string { return value.Load(t, m.read(addr(m), t.Size, user)).S }
	case *check.Read:
		return c.read(e)
	case *check.Part:
		return c.partText(e)
	case *check.Call:
		return c.callText(e)
	case *check.BlockExpr:
		body, result := c.block(e.Body), c.text(e.Result)
		return func(m *Machine) string {
			body(m)
			return result(m)
		}
	}
	if f := c.place(e); f != nil {
		return func(m *Machine) string { return m.seen(f(m)).S }
	}
	c.fail(e)
	return func(*Machine) string { return "" }
}

// most bounds the size of one read, in bytes.
const most = 1 << 20

// read reads memory. It returns zeros if the memory cannot be read.
func (m *Machine) read(address uint64, size int, user bool) string {
	b := make([]byte, min(max(size, 0), most))
	if !m.load(address, user, b) {
		clear(b)
	}
	return string(b)
}

// piece is how many bytes of a string are read at a time. Most strings are much shorter than their
// limit.
const piece = 64

// readText reads a string up to its terminating zero. A piece never crosses a page.
func (m *Machine) readText(address uint64, size int, user bool) string {
	var s strings.Builder
	var buf [piece]byte
	for s.Len() < size {
		n := min(size-s.Len(), piece-int(address%piece))
		b := buf[:n]
		if !m.load(address, user, b) {
			break
		}
		if end := strings.IndexByte(string(b), 0); end >= 0 {
			s.Write(b[:end])
			break
		}
		s.Write(b)
		address += uint64(n)
	}
	return s.String()
}

func (c *compiler) read(e *check.Read) textFunc {
	addr, size, user := c.int(e.Addr), e.T.Size, e.User
	given := func(*Machine) uint64 { return math.MaxUint64 }
	if e.Len != nil {
		given = c.int(e.Len)
	}
	switch e.Form {
	case check.Text:
		keep := c.kept(size)
		return func(m *Machine) string {
			a, n := addr(m), keep(given(m))
			if text, late, ok := m.opts.Host.Text(m.hit, a); ok {
				m.late = m.late || late
				return text[:min(len(text), n)]
			}
			return m.readText(a, n, user)
		}
	case check.Vector:
		return func(m *Machine) string { return m.readVector(addr(m), size, user) }
	}
	return func(m *Machine) string {
		a, n := addr(m), given(m)
		return m.read(a, int(min(n, uint64(size))), user)
	}
}

// maxWords is the most strings of a vector that are read.
const maxWords = 16

// readVector reads the strings that a vector of pointers points to. Each is followed by a zero byte
// in the result.
func (m *Machine) readVector(address uint64, size int, user bool) string {
	var s strings.Builder
	var buf [8]byte
	for i := range uint64(maxWords) {
		if !m.load(address+8*i, user, buf[:]) {
			break
		}
		p := number(string(buf[:]), 8)
		if p == 0 {
			break
		}
		s.WriteString(m.readText(p, size-1, user))
		s.WriteByte(0)
	}
	return s.String()
}

func (c *compiler) convertText(e *check.Convert) textFunc {
	from, t := e.X.Type(), e.T
	if numeric(from) {
		x := c.int(e.X)
		return func(m *Machine) string {
			n, b := x(m), make([]byte, max(t.Size, 0))
			for i := range b {
				b[i] = byte(n >> (8 * (i & 7)))
			}
			return string(b)
		}
	}
	s := c.text(e.X)
	return func(m *Machine) string { return resize(s(m), t) }
}

// resize cuts or pads s to a value of type t.
func resize(s string, t *types.Type) string {
	switch t.Kind {
	case types.String:
		if end := strings.IndexByte(s, 0); end >= 0 {
			s = s[:end]
		}
		if t.Size > 0 && len(s) > t.Size-1 {
			s = s[:t.Size-1]
		}
	case types.Array, types.Struct:
		if len(s) < t.Size {
			return s + string(make([]byte, t.Size-len(s)))
		}
		s = s[:t.Size]
	default:
		if t.Size > 0 && len(s) > t.Size {
			s = s[:t.Size]
		}
	}
	return s
}

func (c *compiler) partText(e *check.Part) textFunc {
	field := types.Field{Type: e.T, Offset: e.Offset}
	s := c.text(e.X)
	if e.Index == nil {
		return func(m *Machine) string { return value.LoadField(field, s(m)).S }
	}
	index, size, t := c.int(e.Index), uint64(max(e.T.Size, 1)), e.T
	return func(m *Machine) string {
		b, i := s(m), index(m)
		if i >= uint64(len(b)) || i*size >= uint64(len(b)) {
			return value.Load(t, "").S
		}
		return value.Load(t, b[i*size:]).S
	}
}
