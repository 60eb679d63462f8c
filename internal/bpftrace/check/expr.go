package check

import (
	"strconv"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// maxDepth bounds how deep expressions nest.
const maxDepth = 500

// maxSize bounds the number of expressions. Macros can multiply them.
const maxSize = 200_000

// value checks an expression that must have a value.
func (c *checker) value(e syntax.Expr) Expr {
	x := c.whole(c.expr(e))
	if t := x.Type(); t.Kind == types.None && known(t) {
		c.errorf(e.Position(), "this has no value")
		return bad(e.Position())
	}
	return x
}

func (c *checker) expr(e syntax.Expr) Expr {
	c.depth++
	defer func() { c.depth-- }()
	if c.size++; c.size > maxSize {
		c.errorf(e.Position(), "the program has more than %d expressions when its macros are expanded", maxSize)
		return bad(e.Position())
	}
	if c.depth > maxDepth {
		c.errorf(e.Position(), "expressions nest too deep here")
		return bad(e.Position())
	}
	switch e := e.(type) {
	case *syntax.Int:
		n := e.Value
		if e.Negative {
			n = -n
			if e.Value > 1<<63 {
				c.errorf(e.Pos, "-%d is below the least integer", e.Value)
				return bad(e.Pos)
			}
		}
		return &Const{Typed: Typed{e.Pos, c.literalType(e.Value, e.Negative && e.Value > 0)}, N: n, literal: true}
	case *syntax.Str:
		return c.text(e.Pos, e.Value)
	case *syntax.Bool:
		t := types.Truth
		if c.opts.Dialect == V017 {
			t = types.Int64
		}
		return &Const{Typed: Typed{e.Pos, t}, N: boolean(e.Value), literal: true}
	case *syntax.Positional:
		return c.positional(e)
	case *syntax.PositionalCount:
		return c.literal(e.Pos, uint64(len(c.opts.Params)))
	case *syntax.Ident:
		return c.ident(e)
	case *syntax.Var:
		v := c.read(e)
		if v == nil {
			return unknownUntilFinal(c, e.Pos)
		}
		return &Local{Typed{e.Pos, v.Type}, v.Var}
	case *syntax.Map:
		return c.mapValue(e)
	case *syntax.Call:
		return c.call(e)
	case *syntax.Unary:
		return c.unary(e)
	case *syntax.Binary:
		return c.binary(e)
	case *syntax.Ternary:
		return c.ternary(e)
	case *syntax.Field:
		return c.field(e)
	case *syntax.Member:
		return c.member(e)
	case *syntax.Index:
		return c.index(e)
	case *syntax.Cast:
		return c.cast(e)
	case *syntax.Tuple:
		return c.tuple(e.Pos, types.Tuple, nil, e.Elems)
	case *syntax.Record:
		return c.tuple(e.Pos, types.Record, e.Names, e.Elems)
	case *syntax.Sizeof:
		return c.sizeof(e)
	case *syntax.Offsetof:
		return c.offsetof(e)
	case *syntax.BlockExpr:
		c.push()
		defer c.pop()
		out := &BlockExpr{Typed: Typed{Pos: e.Pos}, Body: c.stmts(e.Pos, e.Stmts)}
		if e.Result == nil {
			out.T = types.Void
			return out
		}
		out.Result = c.expr(e.Result)
		out.T = out.Result.Type()
		if _, ok := constant(out.Result); ok && len(out.Body.Stmts) == 0 {
			return out.Result
		}
		return out
	case *syntax.Comptime:
		x := c.expr(e.X)
		if _, ok := constant(x); !ok && known(x.Type()) {
			c.errorf(e.Pos, "this is not a constant")
		}
		return x
	case *syntax.TypeArg:
		c.errorf(e.Pos, "a type cannot stand here")
	default:
		c.errorf(e.Position(), "this expression is not known")
	}
	return bad(e.Position())
}

func unknownUntilFinal(c *checker, pos syntax.Pos) Expr {
	if c.final {
		return bad(pos)
	}
	return unknown(pos)
}

func (c *checker) literal(pos syntax.Pos, n uint64) Expr {
	return &Const{Typed: Typed{pos, c.literalType(n, false)}, N: n, literal: true}
}

func (c *checker) text(pos syntax.Pos, s string) Expr {
	return &Const{Typed: Typed{pos, &types.Type{Kind: types.String, Size: len(s) + 1}}, S: s, literal: true}
}

// positional checks $1, which is a number if it parses as one, and otherwise a string.
func (c *checker) positional(e *syntax.Positional) Expr {
	if e.N < 1 || e.N > len(c.opts.Params) {
		return c.literal(e.Pos, 0)
	}
	p := c.opts.Params[e.N-1]
	if n, err := strconv.ParseUint(p, 0, 64); err == nil {
		return c.literal(e.Pos, n)
	}
	if n, err := strconv.ParseInt(p, 0, 64); err == nil {
		return &Const{Typed: Typed{e.Pos, c.literalType(uint64(-n), true)}, N: uint64(n), literal: true}
	}
	return c.text(e.Pos, p)
}

func (c *checker) mapValue(e *syntax.Map) Expr {
	el := c.element(e)
	if el == nil {
		return bad(e.Pos)
	}
	if el.Map.value == pending {
		return unknownUntilFinal(c, e.Pos)
	}
	return el
}

func (c *checker) ternary(e *syntax.Ternary) Expr {
	cond := c.expr(e.Cond)
	var a Expr
	if e.Then == nil {
		a = cond
	} else {
		a = c.expr(e.Then)
	}
	b := c.expr(e.Else)
	cond = c.condition(cond)
	ta, tb := a.Type(), b.Type()
	if ta == wrong || tb == wrong || cond.Type() == wrong {
		return bad(e.Pos)
	}
	if ta.Kind == types.None && tb.Kind == types.None && known(ta) && known(tb) {
		return &Cond{Typed{e.Pos, types.Void}, cond, a, b}
	}
	t := promote(ta, tb)
	if t == nil || t.Kind == types.None && t != pending {
		c.errorf(e.Pos, "one side is %s, the other %s", describe(ta), describe(tb))
		return bad(e.Pos)
	}
	if t == pending {
		return unknownUntilFinal(c, e.Pos)
	}
	if castable(t) {
		t = types.Integer(8, t.Signed)
	}
	ka, okA := constant(a)
	kb, okB := constant(b)
	if k, ok := constant(cond); ok && okA && okB {
		if truth(k) {
			return ka
		}
		return kb
	}
	t = settle(t)
	if c.opts.Dialect == V017 && t.Kind == types.Int {
		// 0.17 takes the signedness of the first side and reads both sides with it.
		t = types.Integer(8, ta.Signed)
		return &Cond{Typed{e.Pos, t}, cond, c.extended(a, t), c.extended(b, t)}
	}
	return &Cond{Typed{e.Pos, t}, cond, c.convertTo(a, t), c.convertTo(b, t)}
}

// extended converts a number to t. It reads the number in its own width with the signedness of t.
func (c *checker) extended(x Expr, t *types.Type) Expr {
	x = c.numberOf(x)
	if from := x.Type(); from.Size < 8 && from.Signed != t.Signed {
		x = c.widenInt(x, types.Integer(from.Size, t.Signed))
	}
	return c.widenInt(x, t)
}

func (c *checker) tuple(pos syntax.Pos, kind types.Kind, names []string, elems []syntax.Expr) Expr {
	out := &MakeTuple{}
	t := &types.Type{Kind: kind}
	state := t
	for i, e := range elems {
		x := c.value(e)
		u := x.Type()
		f := types.Field{Type: u}
		if kind == types.Record {
			f.Name = names[i]
		}
		switch {
		case u == wrong || u == pending && state != wrong:
			state = u
		case u.Kind.Aggregates() && castable(u):
			f.Type = types.Integer(8, u.Signed)
			x = c.convertTo(x, f.Type)
		case u.Kind.Aggregates():
			c.errorf(e.Position(), "%s cannot be in a tuple", describe(u))
			state = wrong
		}
		t.Fields = append(t.Fields, f)
		out.Elems = append(out.Elems, x)
	}
	if state == wrong {
		return bad(pos)
	}
	if state == pending {
		return unknownUntilFinal(c, pos)
	}
	out.Typed = Typed{pos, t}
	return out
}

func (c *checker) member(e *syntax.Member) Expr {
	x := c.expr(e.X)
	t := x.Type()
	switch {
	case t == pending:
		return unknownUntilFinal(c, e.Pos)
	case t == wrong:
		return x
	case t.Kind != types.Tuple && t.Kind != types.Record:
		c.errorf(e.Pos, "%s has no elements", describe(t))
		return bad(e.Pos)
	case e.N < 0 || e.N >= len(t.Fields):
		c.errorf(e.Pos, "the tuple has elements 0 to %d, not %d", len(t.Fields)-1, e.N)
		return bad(e.Pos)
	}
	return &Member{Typed{e.Pos, t.Fields[e.N].Type}, x, e.N}
}
