package check

import (
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

func comparison(op string) bool {
	switch op {
	case "==", "!=", "<", "<=", ">", ">=":
		return true
	}
	return false
}

// truthType returns the type of booleans, which are integers in 0.17.
func (c *checker) truthType() *types.Type {
	if c.opts.Dialect == V017 {
		return types.Int64
	}
	return types.Truth
}

// numberOf converts x to an integer if it is a value that counts as one.
func (c *checker) numberOf(x Expr) Expr {
	switch t := x.Type(); {
	case t.Kind == types.Bool:
		return &Convert{Typed{x.Position(), types.Uint8}, x}
	case castable(t):
		return &Convert{Typed{x.Position(), types.Integer(8, t.Signed)}, x}
	}
	return x
}

// probeText converts the name of a probe to a string and returns anything else unchanged.
func (c *checker) probeText(x Expr) Expr {
	if x.Type().Kind == types.ProbeName {
		return &Convert{Typed{x.Position(), &types.Type{Kind: types.String, Size: c.prog.Config.MaxStrlen}}, x}
	}
	return x
}

func (c *checker) binary(e *syntax.Binary) Expr {
	x, y := c.whole(c.probeText(c.expr(e.X))), c.whole(c.probeText(c.expr(e.Y)))
	tx, ty := x.Type(), y.Type()
	if tx == wrong || ty == wrong {
		return bad(e.Pos)
	}
	if tx == pending || ty == pending {
		return unknownUntilFinal(c, e.Pos)
	}
	if e.Op == "&&" || e.Op == "||" {
		return c.logical(e, c.condition(x), c.condition(y))
	}
	if tx.Kind == types.String && ty.Kind == types.String || tx.Kind == types.String && e.Op == "+" {
		if k := c.foldText(e, x, y); k != nil {
			return k
		}
	}
	switch {
	case tx.Kind == types.String || ty.Kind == types.String:
		x, y = c.symbolText(x), c.symbolText(y)
	case tx.Kind == types.Pointer || ty.Kind == types.Pointer:
		return c.pointerOp(e, x, y)
	case tx.Kind == types.Bool && ty.Kind == types.Bool && comparison(e.Op):
		return c.folded(&Binary{Typed{e.Pos, c.truthType()}, e.Op, x, y})
	}
	x, y = c.numberOf(x), c.numberOf(y)
	tx, ty = x.Type(), y.Type()
	if tx.Kind == types.Int && ty.Kind == types.Int {
		return c.intOp(e, x, y)
	}
	if k := c.foldFacts(e, x, y); k != nil {
		return k
	}
	x, y = c.whole(x), c.whole(y)
	if !comparison(e.Op) || !comparable(tx) || !compatible(tx, ty) ||
		tx.Kind != types.String && e.Op != "==" && e.Op != "!=" {
		c.errorf(e.Pos, "%s cannot be used on %s and %s", e.Op, describe(tx), describe(ty))
		return bad(e.Pos)
	}
	if tx.Kind != types.String {
		t := promote(tx, ty)
		if t == nil {
			c.errorf(e.Pos, "%s and %s cannot be compared", describe(tx), describe(ty))
			return bad(e.Pos)
		}
		t = settle(t)
		x, y = c.convertTo(x, t), c.convertTo(y, t)
	}
	return &Binary{Typed{e.Pos, c.truthType()}, e.Op, x, y}
}

// comparable reports whether values of type t can be compared with == and !=.
func comparable(t *types.Type) bool {
	switch t.Kind {
	case types.String, types.Buffer, types.Array, types.Tuple, types.Record, types.Inet, types.MAC,
		types.KSym, types.USym, types.Username:
		return true
	}
	return false
}

func (c *checker) logical(e *syntax.Binary, x, y Expr) Expr {
	kx, okX := constant(x)
	ky, okY := constant(y)
	if okX && okY {
		n := truth(kx) && truth(ky)
		if e.Op == "||" {
			n = truth(kx) || truth(ky)
		}
		return &Const{Typed: Typed{e.Pos, c.truthType()}, N: boolean(n)}
	}
	return &Binary{Typed{e.Pos, c.truthType()}, e.Op, x, y}
}

// pointerOp checks an operation with a pointer. Pointer arithmetic counts in elements.
func (c *checker) pointerOp(e *syntax.Binary, x, y Expr) Expr {
	tx, ty := x.Type(), y.Type()
	if comparison(e.Op) && (tx.Kind == types.Pointer || tx.Kind == types.Int) && (ty.Kind == types.Pointer || ty.Kind == types.Int) {
		address := func(x Expr) Expr {
			if k, ok := x.(*Const); ok {
				return &Const{Typed: Typed{k.Pos, types.Uint64}, N: k.N}
			}
			return &Convert{Typed{x.Position(), types.Uint64}, x}
		}
		return &Binary{Typed{e.Pos, c.truthType()}, e.Op, address(x), address(y)}
	}
	if tx.Kind == types.Int && e.Op == "+" {
		x, y, tx, ty = y, x, ty, tx
	}
	if tx.Kind != types.Pointer || ty.Kind != types.Int || e.Op != "+" && e.Op != "-" {
		c.errorf(e.Pos, "%s cannot be used on %s and %s", e.Op, describe(x.Type()), describe(y.Type()))
		return bad(e.Pos)
	}
	size := 1
	if tx.Elem != nil {
		size = max(sizeOf(tx.Elem), 1)
	}
	if k, ok := constant(y); ok {
		y = &Const{Typed: Typed{k.Pos, types.Int64}, N: k.N * uint64(size)}
	} else if size > 1 {
		n := &Const{Typed: Typed{e.Pos, types.Int64}, N: uint64(size)}
		y = &Binary{Typed{e.Pos, types.Int64}, "*", c.convertTo(y, types.Int64), n}
	}
	return &Binary{Typed{e.Pos, tx}, e.Op, x, y}
}

// intOp checks an operation on two integers, which it first converts to one type.
func (c *checker) intOp(e *syntax.Binary, x, y Expr) Expr {
	kx, okX := x.(*Const)
	ky, okY := y.(*Const)
	if okX && okY && kx.literal && ky.literal && c.opts.Dialect != V017 {
		return c.foldInts(e, kx, ky)
	}
	tx, ty := x.Type(), y.Type()
	if c.opts.Dialect == V017 {
		return c.folded(c.intOp017(e, x, y))
	}
	if flexible(tx) && !flexible(ty) {
		tx = types.Integer(tx.Size, ty.Signed)
	} else if flexible(ty) && !flexible(tx) {
		ty = types.Integer(ty.Size, tx.Signed)
	}
	if comparison(e.Op) {
		t := settle(promote(x.Type(), y.Type()))
		return c.folded(&Binary{Typed{e.Pos, types.Truth}, e.Op, c.widenInt(x, t), c.widenInt(y, t)})
	}
	t := types.Uint64
	if tx.Signed || ty.Signed || e.Op == "-" {
		t = types.Int64
	}
	harmless := difference(x) && flexible(y.Type())
	if (e.Op == "/" || e.Op == "%") && (tx.Signed || ty.Signed) && !(equal(tx, ty)) && !harmless {
		c.warnf(e.Pos, "%s takes its operands as unsigned numbers: cast them to say so", e.Op)
	}
	return c.folded(&Binary{Typed{e.Pos, t}, e.Op, c.widenInt(x, t), c.widenInt(y, t)})
}

// difference reports whether x is a difference of unsigned numbers, such as times. Its type is
// signed, but programs that divide times do not expect a warning about that.
func difference(x Expr) bool {
	b, ok := x.(*Binary)
	if !ok || b.Op != "-" {
		return false
	}
	for _, y := range []Expr{b.X, b.Y} {
		if k, ok := y.(*Convert); ok {
			y = k.X
		}
		if y.Type().Signed {
			return false
		}
	}
	return true
}

// widenInt converts an operand without checking whether it fits.
func (c *checker) widenInt(x Expr, t *types.Type) Expr {
	if k, ok := x.(*Const); ok {
		return &Const{Typed: Typed{k.Pos, t}, N: Wrap(k.N, t), literal: k.literal}
	}
	if equal(x.Type(), t) {
		return x
	}
	return &Convert{Typed{x.Position(), t}, x}
}

// intOp017 checks an operation in 0.17: on 64 bits, and signed if both operands are.
func (c *checker) intOp017(e *syntax.Binary, x, y Expr) *Binary {
	positive := func(x Expr) bool {
		k, ok := x.(*Const)
		return ok && k.literal && int64(k.N) >= 0
	}
	sx, sy := x.Type().Signed, y.Type().Signed
	switch {
	case sx && !sy && positive(x):
		sx = false
	case !sx && sy && positive(y):
		sy = false
	}
	signed := sx && sy
	operand := types.Integer(8, signed)
	result := operand
	if e.Op == "<<" || e.Op == ">>" {
		result = types.Integer(8, sx)
	}
	return &Binary{Typed{e.Pos, result}, e.Op, c.widenInt(x, operand), c.widenInt(y, operand)}
}

// folded returns the value of b if both operands are constants, otherwise b.
func (c *checker) folded(b *Binary) Expr {
	x, okX := constant(b.X)
	y, okY := constant(b.Y)
	if !okX || !okY || (b.Op == "/" || b.Op == "%") && y.N == 0 {
		return b
	}
	return &Const{Typed: Typed{b.Pos, b.T}, N: Arithmetic(b.Op, x.N, y.N, x.T.Signed)}
}

// Arithmetic returns what an operation on two integers of one type yields at run time. As in BPF,
// division and remainder are unsigned and >> shifts in zeros. The divisor must not be 0. Shift
// counts are modulo 64.
func Arithmetic(op string, x, y uint64, signed bool) uint64 {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/":
		return x / y
	case "%":
		return x % y
	case "&":
		return x & y
	case "|":
		return x | y
	case "^":
		return x ^ y
	case "<<":
		return x << (y & 63)
	case ">>":
		return x >> (y & 63)
	case "==":
		return boolean(x == y)
	case "!=":
		return boolean(x != y)
	case "<":
		return boolean(less(x, y, signed))
	case ">":
		return boolean(less(y, x, signed))
	case "<=":
		return boolean(!less(y, x, signed))
	case ">=":
		return boolean(!less(x, y, signed))
	}
	return 0
}

func less(x, y uint64, signed bool) bool {
	if signed {
		return int64(x) < int64(y)
	}
	return x < y
}

func (c *checker) unary(e *syntax.Unary) Expr {
	if e.Op == "++" || e.Op == "--" {
		return c.increment(e)
	}
	if e.Op == "&" {
		return c.addressOf(e)
	}
	x := c.expr(e.X)
	t := x.Type()
	switch {
	case t == wrong:
		return x
	case t == pending:
		return unknownUntilFinal(c, e.Pos)
	case e.Op == "*":
		return c.deref(e, x)
	case e.Op == "!":
		x = c.condition(x)
		if k, ok := constant(x); ok {
			return &Const{Typed: Typed{e.Pos, c.truthType()}, N: boolean(!truth(k))}
		}
		return &Unary{Typed{e.Pos, c.truthType()}, "!", x}
	}
	x = c.numberOf(x)
	t = x.Type()
	if t.Kind != types.Int {
		c.errorf(e.Pos, "%s cannot be used on %s", e.Op, describe(t))
		return bad(e.Pos)
	}
	if e.Op == "+" {
		return x
	}
	if k, ok := x.(*Const); ok && k.literal && c.opts.Dialect != V017 {
		return c.foldUnary(e, k)
	}
	_, header := x.(*Header) // has 64 bits in 0.17
	if c.opts.Dialect == V017 && t.Size < 8 || c.opts.Dialect == Default && t.Size < 8 && e.Op == "~" && !header {
		// Both compute in the operand's width.
		return &Convert{Typed{e.Pos, t}, &Unary{Typed{e.Pos, types.Uint64}, e.Op, c.widenInt(x, types.Uint64)}}
	}
	t = types.Integer(8, t.Signed)
	if k, ok := constant(x); ok {
		n := ^k.N
		if e.Op == "-" {
			n = -k.N
		}
		return &Const{Typed: Typed{e.Pos, t}, N: n}
	}
	return &Unary{Typed{e.Pos, t}, e.Op, c.widenInt(x, t)}
}
