package check

import (
	"fmt"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// cast checks (type)x.
func (c *checker) cast(e *syntax.Cast) Expr {
	x := c.expr(e.X)
	t := c.typeExpr(e.Type)
	from := x.Type()
	switch {
	case from == wrong || t == wrong:
		return bad(e.Pos)
	case from == pending || t == pending:
		return unknownUntilFinal(c, e.Pos)
	}
	if t.Kind == types.Array && t.Len == 0 && t.Elem.Size > 0 {
		n := sizeOf(from) / t.Elem.Size
		t = &types.Type{Kind: types.Array, Elem: t.Elem, Len: n, Size: n * t.Elem.Size}
	}
	if unsized(t) {
		t = from
	}
	if t.Kind == types.Struct && from.Kind == types.Array && from.Elem.Size == 1 && sizeOf(t) > 0 && sizeOf(t) <= sizeOf(from) {
		return &Part{Typed: Typed{e.Pos, t}, X: c.whole(x)} // only in ringtap
	}
	if t.Kind == types.Struct && from.Kind != types.Struct {
		c.hintf(e.Pos, fmt.Sprintf("cast to a pointer: (%s *)", describe(t)), "%s cannot be cast to %s itself", describe(from), describe(t))
		return bad(e.Pos)
	}
	if !castTo(from, t) {
		c.errorf(e.Pos, "%s cannot be cast to %s", describe(from), describe(t))
		return bad(e.Pos)
	}
	if c.opts.Dialect == V017 && from.Kind == types.Int && t.Kind == types.Int && from.Size < t.Size { // 0.17 sign-extends if the new type is signed
		return c.extended(x, t)
	}
	if k, ok := constant(x); ok && from.Kind == types.Int {
		switch t.Kind {
		case types.Int:
			return &Const{Typed: Typed{e.Pos, t}, N: Wrap(k.N, t)}
		case types.Bool:
			return &Const{Typed: Typed{e.Pos, t}, N: boolean(k.N != 0)}
		case types.Pointer:
			return &Const{Typed: Typed{e.Pos, t}, N: k.N}
		}
	}
	if equal(from, t) && !flexible(from) {
		return x
	}
	return &Convert{Typed{e.Pos, t}, c.whole(x)}
}

// castTo reports whether a value of type from can be cast to type to.
func castTo(from, to *types.Type) bool {
	number := from.Kind == types.Int || from.Kind == types.Bool || from.Kind == types.Pointer || castable(from)
	switch to.Kind {
	case types.Int:
		return number || from.Kind == types.Array && sizeOf(from) <= 8 && sizeOf(from) > 0 || from.Kind == types.KSym || from.Kind == types.USym
	case types.Bool:
		return number || from.Kind == types.String
	case types.Pointer:
		return from.Kind == types.Int || from.Kind == types.Pointer || from.Kind == types.KSym
	case types.Array:
		return (from.Kind == types.Int || from.Kind == types.Bool) && sizeOf(to) <= 8 ||
			(from.Kind == types.Array || from.Kind == types.String || from.Kind == types.Buffer) && to.Elem.Kind == types.Int
	case types.String, types.Buffer:
		return from.Kind == to.Kind || from.Kind == types.Array && from.Elem.Size == 1
	case types.Username, types.KSym, types.USym:
		return from.Kind == types.Int
	}
	return compatible(from, to)
}

func (c *checker) increment(e *syntax.Unary) Expr {
	by := int64(1)
	if e.Op == "--" {
		by = -1
	}
	out := &Increment{By: by, Post: e.Postfix}
	var t *types.Type
	switch x := e.X.(type) {
	case *syntax.Var:
		v := c.read(x)
		if v == nil {
			return unknownUntilFinal(c, e.Pos)
		}
		v.sets++
		if v.loop {
			c.errorf(e.Pos, "%s belongs to its loop: it cannot be changed", name(v.Name))
		}
		if v.typ.Kind == types.Int && !v.sized {
			c.widen(v, types.Integer(8, v.typ.Signed || by < 0))
		}
		t = v.Type
		out.Target = &Local{Typed{x.Pos, v.Type}, v.Var}
	case *syntax.Map:
		m := c.mapNamed(x)
		if m.value == pending || m.value.Kind == types.Int {
			u := types.Integer(8, by < 0 || m.value != pending && m.value.Signed)
			if m.value == pending || !equal(promote(m.value, u), m.value) || flexible(m.value) {
				c.widenMap(m, u)
			}
		}
		el := c.element(x)
		if el == nil {
			return bad(e.Pos)
		}
		t = el.T
		out.Target = el
	default:
		c.errorf(e.Pos, "%s changes a variable or a map, nothing else", e.Op)
		return bad(e.Pos)
	}
	switch {
	case !known(t):
		return unknownUntilFinal(c, e.Pos)
	case t.Kind == types.Pointer && t.Elem != nil:
		out.By *= int64(max(sizeOf(t.Elem), 1))
	case t.Kind != types.Int:
		c.errorf(e.Pos, "%s cannot be used on %s", e.Op, describe(t))
		return bad(e.Pos)
	}
	out.Typed = Typed{e.Pos, t}
	return out
}
