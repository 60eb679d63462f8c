package eval

import (
	"fmt"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// The closures of expressions, by the kind of value.
type (
	intFunc   func(m *Machine) uint64 // numbers, extended to 64 bits
	textFunc  func(m *Machine) string // strings, buffers, arrays, structs
	valueFunc func(m *Machine) value.Value
	doFunc    func(m *Machine) flow
)

// flow says where execution continues after a statement.
type flow uint8

const (
	next flow = iota
	breakLoop
	continueLoop
	leave // return, exit()
)

type compiler struct {
	m         *Machine
	functions map[*check.Function]*function
	sources   []*check.Source     // of the current clause
	late      map[*check.Var]bool // variables that may hold numbers read late
	err       error
}

// function is a function of the program. body is set after all functions are known, because they
// may call each other.
type function struct {
	body doFunc
	vars int
}

func (c *compiler) fail(e check.Expr) {
	if c.err == nil {
		c.err = fmt.Errorf("line %d: %T of %s cannot be run", e.Position().Line, e, e.Type().Kind.Name())
	}
}

// numeric reports whether values of type t are numbers.
func numeric(t *types.Type) bool {
	switch t.Kind {
	case types.Int, types.Bool, types.Pointer, types.KStack, types.UStack, types.KSym, types.USym,
		types.Username, types.CgroupPath:
		return true
	}
	return t.Kind.Aggregates()
}

// text reports whether values of type t consist of bytes.
func text(t *types.Type) bool {
	switch t.Kind {
	case types.String, types.Buffer, types.Array, types.Struct, types.Inet, types.MAC, types.ProbeName:
		return true
	}
	return false
}

// value compiles an expression of any type.
func (c *compiler) value(e check.Expr) valueFunc {
	switch {
	case numeric(e.Type()):
		f := c.int(e)
		return func(m *Machine) value.Value { return value.Value{N: f(m)} }
	case text(e.Type()):
		f := c.text(e)
		return func(m *Machine) value.Value { return value.Value{S: f(m)} }
	case e.Type().Kind == types.None:
		f := c.do(e)
		return func(m *Machine) value.Value { f(m); return value.Value{} }
	}
	switch e := e.(type) {
	case *check.MakeTuple:
		return c.makeTuple(e)
	case *check.Convert:
		return c.convertTuple(e)
	case *check.Call:
		if e.Func == "strftime" {
			ns, format := c.int(e.Args[0]), e.Format
			return func(m *Machine) value.Value { return value.Value{N: ns(m), S: format} }
		}
	case *check.Cond:
		cond, a, b := c.truth(e.C), c.value(e.A), c.value(e.B)
		return func(m *Machine) value.Value {
			if cond(m) != 0 {
				return a(m)
			}
			return b(m)
		}
	}
	if f := c.place(e); f != nil {
		return f
	}
	c.fail(e)
	return func(*Machine) value.Value { return value.Value{} }
}

// place compiles an expression that reads a stored value. It returns nil for any other expression.
func (c *compiler) place(e check.Expr) valueFunc {
	switch e := e.(type) {
	case *check.Local:
		slot := e.Var.Slot
		zero := zeroOf(e.T)
		if zero.T == nil {
			return func(m *Machine) value.Value { return m.vars[slot] }
		}
		return func(m *Machine) value.Value {
			if v := m.vars[slot]; v.T != nil {
				return v
			}
			return zero
		}
	case *check.FromHit:
		i := e.Source
		return func(m *Machine) value.Value { return m.values.Value(i) }
	case *check.Element:
		get := c.element(e)
		zero := zeroOf(e.T)
		return func(m *Machine) value.Value {
			if v, ok := get(m); ok && (zero.T == nil || v.T != nil) {
				return v
			}
			return zero
		}
	case *check.Member:
		x, n := c.value(e.X), e.N
		return func(m *Machine) value.Value { return x(m).T[n] }
	case *check.Invoke:
		return c.invoke(e)
	case *check.BlockExpr:
		body, result := c.block(e.Body), c.value(e.Result)
		return func(m *Machine) value.Value {
			body(m)
			return result(m)
		}
	}
	return nil
}

// zeroOf returns the value of a variable or element that has not been set.
func zeroOf(t *types.Type) value.Value {
	switch t.Kind {
	case types.Tuple, types.Record:
		v := value.Value{T: make([]value.Value, len(t.Fields))}
		for i, f := range t.Fields {
			v.T[i] = zeroOf(f.Type)
		}
		return v
	case types.Array, types.Struct, types.Inet, types.MAC:
		return value.Value{S: string(make([]byte, max(t.Size, 0)))}
	}
	return value.Value{}
}

func (c *compiler) makeTuple(e *check.MakeTuple) valueFunc {
	parts := make([]valueFunc, len(e.Elems))
	for i, x := range e.Elems {
		parts[i] = c.marked(x)
	}
	return func(m *Machine) value.Value {
		v := value.Value{T: make([]value.Value, len(parts))}
		for i, f := range parts {
			v.T[i] = f(m)
		}
		return v
	}
}

// convertTuple compiles the conversion of a tuple to another tuple type.
func (c *compiler) convertTuple(e *check.Convert) valueFunc {
	x, from, to := c.value(e.X), e.X.Type(), e.T
	if to.Kind != types.Tuple && to.Kind != types.Record {
		return x
	}
	return func(m *Machine) value.Value { return convertElems(x(m), from, to) }
}

func convertElems(v value.Value, from, to *types.Type) value.Value {
	out := value.Value{T: make([]value.Value, len(to.Fields))}
	for i, f := range to.Fields {
		j := check.Counterpart(from, i, f.Name)
		e, u := v.T[j], from.Fields[j].Type
		switch {
		case f.Type.Kind == types.Tuple || f.Type.Kind == types.Record:
			e = convertElems(e, u, f.Type)
		case f.Type.Kind == types.Int:
			e.N = check.Wrap(e.N, f.Type)
		case text(f.Type):
			e.S = resize(e.S, f.Type)
		}
		out.T[i] = e
	}
	return out
}

// key compiles the key of a map element.
func (c *compiler) key(e *check.Element) func(m *Machine) value.Key {
	return c.countKey(e, c.plainKey(e))
}

func (c *compiler) plainKey(e *check.Element) func(m *Machine) value.Key {
	keys := e.Map.Spec.Keys
	if len(keys) == 0 {
		return func(*Machine) value.Key { return value.Key{} }
	}
	enc := &value.Encoder{}
	if e.Whole != nil {
		whole := c.value(e.Whole)
		return func(m *Machine) value.Key { return enc.Key(keys, whole(m).T) }
	}
	if value.Single(keys) {
		n := c.int(e.Keys[0])
		return func(m *Machine) value.Key { return value.IntKey(n(m)) }
	}
	if len(e.Keys) == 1 && text(keys[0]) {
		s := c.text(e.Keys[0])
		return func(m *Machine) value.Key {
			key := s(m)
			enc.Reset()
			enc.String(key)
			return enc.Done()
		}
	}
	add := make([]func(m *Machine), len(e.Keys))
	for i, k := range e.Keys {
		add[i] = c.keyPart(enc, keys[i], k)
	}
	return func(m *Machine) value.Key {
		enc.Reset()
		for _, f := range add {
			f(m)
		}
		return enc.Done()
	}
}

func (c *compiler) keyPart(enc *value.Encoder, t *types.Type, k check.Expr) func(m *Machine) {
	switch {
	case numeric(t):
		f := c.int(k)
		return func(m *Machine) { enc.Int(f(m)) }
	case text(t):
		f := c.text(k)
		return func(m *Machine) { enc.String(f(m)) }
	}
	f := c.value(k)
	return func(m *Machine) { enc.Add(t, f(m)) }
}
