package check

import (
	"math/big"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

var (
	leastInt  = new(big.Int).SetInt64(-1 << 63)
	greatest  = new(big.Int).SetUint64(1<<64 - 1)
	signedEnd = new(big.Int).SetUint64(1 << 63)
)

func exact(k *Const) *big.Int {
	if k.T.Signed {
		return big.NewInt(int64(k.N))
	}
	return new(big.Int).SetUint64(k.N)
}

// foldInts evaluates an operation on two literals exactly. A result that does not fit 64 bits is an
// error.
func (c *checker) foldInts(e *syntax.Binary, x, y *Const) Expr {
	a, b := exact(x), exact(y)
	if (a.Sign() < 0 && b.Cmp(signedEnd) >= 0) || (b.Sign() < 0 && a.Cmp(signedEnd) >= 0) {
		c.errorf(e.Pos, "%s and %s have no common type", a, b)
		return bad(e.Pos)
	}
	if comparison(e.Op) {
		n := a.Cmp(b)
		r := map[string]bool{"==": n == 0, "!=": n != 0, "<": n < 0, "<=": n <= 0, ">": n > 0, ">=": n >= 0}[e.Op]
		return &Const{Typed: Typed{e.Pos, types.Truth}, N: boolean(r), literal: true}
	}
	r := new(big.Int)
	switch e.Op {
	case "+":
		r.Add(a, b)
	case "-":
		r.Sub(a, b)
	case "*":
		r.Mul(a, b)
	case "/", "%":
		if b.Sign() == 0 {
			c.errorf(e.Pos, "%s by 0", map[string]string{"/": "division", "%": "remainder"}[e.Op])
			return bad(e.Pos)
		}
		q, m := new(big.Int).QuoRem(a, b, new(big.Int))
		r = q
		if e.Op == "%" {
			r = m
		}
	case "&":
		r.And(a, b)
	case "|":
		r.Or(a, b)
	case "^":
		r.Xor(a, b)
	case "<<", ">>":
		return c.foldShift(e, a, b)
	}
	return c.exactLiteral(e.Pos, r)
}

func (c *checker) exactLiteral(pos syntax.Pos, r *big.Int) Expr {
	if r.Cmp(leastInt) < 0 || r.Cmp(greatest) > 0 {
		c.errorf(pos, "the result does not fit 64 bits")
		return bad(pos)
	}
	if r.Sign() < 0 {
		n := r.Int64()
		return &Const{Typed: Typed{pos, c.literalType(uint64(-n), true)}, N: uint64(n), literal: true}
	}
	return c.literal(pos, r.Uint64())
}

// foldShift shifts a literal and drops the bits beyond 64.
func (c *checker) foldShift(e *syntax.Binary, a, b *big.Int) Expr {
	if b.Sign() < 0 || b.Cmp(big.NewInt(64)) >= 0 {
		c.errorf(e.Pos, "a shift is by 0 to 63 bits, not %s", b)
		return bad(e.Pos)
	}
	n := uint(b.Uint64())
	if a.Sign() >= 0 {
		if e.Op == "<<" {
			return c.literal(e.Pos, a.Uint64()<<n)
		}
		return c.literal(e.Pos, a.Uint64()>>n)
	}
	r := a.Int64() >> n
	if e.Op == "<<" {
		r = a.Int64() << n
	}
	return c.exactLiteral(e.Pos, big.NewInt(r))
}

func (c *checker) foldUnary(e *syntax.Unary, k *Const) Expr {
	if e.Op == "~" {
		return c.literal(e.Pos, ^k.N)
	}
	return c.exactLiteral(e.Pos, new(big.Int).Neg(exact(k)))
}

// foldText evaluates an operation on two literal strings. It returns nil if x and y are not such.
func (c *checker) foldText(e *syntax.Binary, x, y Expr) Expr {
	a, okA := x.(*Const)
	b, okB := y.(*Const)
	if !okA || !okB || !a.literal || !b.literal {
		return nil
	}
	if b.T.Kind == types.Int {
		return c.text(e.Pos, a.S[min(b.N, uint64(len(a.S))):])
	}
	var r bool
	switch e.Op {
	case "+":
		return c.text(e.Pos, a.S+b.S)
	case "==":
		r = a.S == b.S
	case "!=":
		r = a.S != b.S
	case "<":
		r = a.S < b.S
	case "<=":
		r = a.S <= b.S
	case ">":
		r = a.S > b.S
	case ">=":
		r = a.S >= b.S
	default:
		return nil
	}
	return &Const{Typed: Typed{e.Pos, c.truthType()}, N: boolean(r), literal: true}
}

// foldFacts compares two constant tuples or records. It returns nil if x and y are not such.
func (c *checker) foldFacts(e *syntax.Binary, x, y Expr) Expr {
	a, okA := allConstant(x)
	b, okB := allConstant(y)
	if !okA || !okB || e.Op != "==" && e.Op != "!=" || !compatible(a.T, b.T) {
		return nil
	}
	same := true
	for i := range a.Elems {
		k, l := a.Elems[i].(*Const), b.Elems[Counterpart(b.T, i, a.T.Fields[i].Name)].(*Const)
		same = same && k.N == l.N && k.S == l.S
	}
	return &Const{Typed: Typed{e.Pos, c.truthType()}, N: boolean(same == (e.Op == "==")), literal: true}
}
