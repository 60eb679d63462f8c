package check

import (
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// maxUnroll is the largest count of an unroll.
const maxUnroll = 100

func (c *checker) block(b *syntax.Block) *Block {
	c.push()
	out := c.stmts(b.Pos, b.Stmts)
	c.pop()
	return out
}

func (c *checker) stmts(pos syntax.Pos, list []syntax.Stmt) *Block {
	out := &Block{Pos: pos}
	for i, s := range list {
		t := c.stmt(s)
		if t == nil {
			continue
		}
		out.Stmts = append(out.Stmts, t)
		if i+1 < len(list) && leavesBlock(t) {
			c.warnf(list[i+1].Position(), "Unreachable statement: the one before it ends the block")
		}
	}
	return out
}

// leavesBlock reports whether the statements after s never run.
func leavesBlock(s Stmt) bool {
	switch s := s.(type) {
	case *Jump:
		return true
	case *Do:
		call, ok := s.X.(*Call)
		return ok && call.Func == "exit"
	}
	return false
}

func (c *checker) stmt(s syntax.Stmt) Stmt {
	switch s := s.(type) {
	case *syntax.ExprStmt:
		return c.exprStmt(s)
	case *syntax.Assign:
		return c.assign(s)
	case *syntax.Let:
		return c.let(s)
	case *syntax.If:
		return c.ifStmt(s)
	case *syntax.While:
		cond := c.condition(c.expr(s.Cond))
		return &While{s.Pos, cond, c.loopBody(s.Body)}
	case *syntax.ForMap:
		return c.forMap(s)
	case *syntax.ForRange:
		return c.forRange(s)
	case *syntax.Unroll:
		return c.unroll(s)
	case *syntax.Jump:
		return c.jump(s)
	case *syntax.Block:
		return c.block(s)
	}
	c.errorf(s.Position(), "this statement is not known")
	return nil
}

func (c *checker) exprStmt(s *syntax.ExprStmt) Stmt {
	switch e := s.X.(type) {
	case *syntax.BlockExpr:
		c.push()
		defer c.pop()
		out := c.stmts(e.Pos, e.Stmts)
		if e.Result != nil {
			if t := c.exprStmt(&syntax.ExprStmt{Pos: e.Result.Position(), X: e.Result}); t != nil {
				out.Stmts = append(out.Stmts, t)
			}
		}
		return out
	case *syntax.Call:
		// The alternative spelling count(@x, key) is allowed only in bpftrace's own standard
		// library.
		if aggregation(e.Func) != types.None {
			c.hintf(e.Pos, "assign it to a map: @ = "+e.Func+"(…)", "%s() has no value of its own", e.Func)
			return nil
		}
	}
	x := c.expr(s.X)
	if x == nil || x.Type() == wrong {
		return nil
	}
	return c.do(x)
}

func (c *checker) ifStmt(s *syntax.If) Stmt {
	if ct, ok := s.Cond.(*syntax.Comptime); ok {
		x := c.expr(ct.X)
		k, ok := constant(x)
		if !ok {
			if known(x.Type()) {
				c.errorf(s.Pos, "the condition of this comptime if is not a constant")
			}
			return nil
		}
		if truth(k) {
			return c.block(s.Then)
		}
		if s.Else != nil {
			return c.stmt(s.Else)
		}
		return nil
	}
	out := &If{Pos: s.Pos, C: c.condition(c.expr(s.Cond)), Then: c.block(s.Then)}
	if s.Else != nil {
		out.Else = c.stmt(s.Else)
	}
	return out
}

func (c *checker) let(s *syntax.Let) Stmt {
	var x Expr
	if s.Value != nil {
		x = c.value(s.Value)
	}
	if v := c.lookup(s.Name); v != nil {
		c.errorf(s.Pos, "variable %s is there already: a block cannot hide it", s.Name)
	}
	v := c.declare(s, s.Name)
	if s.Type != nil {
		t := c.typeExpr(s.Type)
		if unsized(t) && x != nil {
			c.widen(v, x.Type())
		} else {
			v.typ, v.Type, v.sized = t, t, true
		}
	}
	if x == nil {
		v.bare = true
		return &SetVar{s.Pos, v.Var, nil}
	}
	return c.setVar(s.Pos, v, x)
}

// unsized reports whether a declared type gets its size from the value.
func unsized(t *types.Type) bool {
	return (t.Kind == types.String || t.Kind == types.Buffer) && t.Size == 0 || t.Kind == types.Array && t.Len <= 0
}

func (c *checker) setVar(pos syntax.Pos, v *variable, x Expr) Stmt {
	v.sets++
	if v.bare && c.scopes[len(c.scopes)-1][v.Name] != v {
		v.sets++ // it may still be zero, because the block that assigns it may not run
	}
	if v.loop {
		c.errorf(pos, "%s belongs to its loop: it cannot be assigned", name(v.Name))
	}
	t := x.Type()
	if t == wrong {
		return nil
	}
	if t.Kind == types.None && t != pending || t.Kind.Aggregates() && !castable(t) {
		c.errorf(pos, "%s cannot be the value of a variable", describe(t))
		return nil
	}
	if !c.widen(v, t) {
		c.errorf(pos, "%s holds %s, not %s", name(v.Name), describe(v.Type), describe(t))
		return nil
	}
	if v.sets == 1 && v.before <= 1 {
		v.from = c.origin(x)
	}
	return &SetVar{pos, v.Var, c.convertTo(x, v.Type)}
}

// name returns a name as the program writes it, without the suffix that macro expansion adds.
func name(s string) string {
	s, _, _ = strings.Cut(s, "'")
	return s
}

func (c *checker) assign(s *syntax.Assign) Stmt {
	op := strings.TrimSuffix(s.Op, "=")
	switch left := s.Left.(type) {
	case nil:
		return &Do{s.Pos, c.expr(s.Right), true}
	case *syntax.Var:
		if op != "" {
			v := c.read(left)
			if v == nil {
				c.expr(s.Right)
				return nil
			}
			x := c.binary(&syntax.Binary{Pos: s.Pos, Op: op, X: left, Y: s.Right})
			return c.setVar(s.Pos, v, x)
		}
		x := c.value(s.Right)
		return c.setVar(s.Pos, c.assigned(s, left.Name), x)
	case *syntax.Map:
		return c.assignMap(s, left, op)
	}
	c.errorf(s.Pos, "only variables and maps can be assigned")
	return nil
}

func (c *checker) assignMap(s *syntax.Assign, left *syntax.Map, op string) Stmt {
	if block, ok := s.Right.(*syntax.BlockExpr); ok && op == "" && block.Result != nil {
		if call, ok := block.Result.(*syntax.Call); ok && aggregation(call.Func) != types.None {
			c.push()
			defer c.pop()
			out := c.stmts(block.Pos, block.Stmts)
			if last := c.assignMap(&syntax.Assign{Pos: s.Pos, Op: s.Op, Left: left, Right: call}, left, op); last != nil {
				out.Stmts = append(out.Stmts, last)
			}
			return out
		}
	}
	if call, ok := s.Right.(*syntax.Call); ok && op == "" {
		if kind := aggregation(call.Func); kind != types.None && c.functions[call.Func] == nil {
			return c.aggregate(s.Pos, left, call, kind)
		}
	}
	var x Expr
	if op != "" {
		c.begins(left, op, s.Right)
		x = c.binary(&syntax.Binary{Pos: s.Pos, Op: op, X: left, Y: s.Right})
	} else {
		if op, other := changes(s.Right, left.Name); other != nil {
			c.begins(left, op, other)
		}
		x = c.value(s.Right)
	}
	e := c.element(left)
	t := x.Type()
	if t == wrong || e == nil {
		return nil
	}
	switch {
	case e.Map.value.Kind.Aggregates():
		c.errorf(s.Pos, "%s holds %s, so only %s can be assigned", left.Name, describe(e.Map.value), describe(e.Map.value))
		return nil
	case t.Kind.Aggregates() && (!castable(t) || e.Map.value.Kind == types.None && e.Map.value == pending):
		c.hintf(s.Pos, "copy the number with a cast: (int64)@map", "%s cannot be copied to another map", describe(t))
		return nil
	case t.Kind == types.None && t != pending:
		c.errorf(s.Pos, "this has no value that %s could hold", left.Name)
		return nil
	}
	if !c.widenMap(e.Map, t) {
		c.errorf(s.Pos, "%s holds %s, not %s", left.Name, describe(e.Map.value), describe(t))
		return nil
	}
	e.T = settle(e.Map.value)
	return &SetMap{s.Pos, e, c.convertTo(x, e.T)}
}

// begins makes a map of unknown type hold integers, if an operator and an integer operand change
// it. The elements of such a map start at 0.
func (c *checker) begins(left *syntax.Map, op string, other syntax.Expr) {
	m := c.mapNamed(left)
	if m.value != pending {
		return
	}
	if y := c.value(other); y.Type().Kind == types.Int {
		c.widenMap(m, types.Integer(8, y.Type().Signed || op == "-"))
	}
}

// changes returns the operator and the other operand of an expression that changes a map's value,
// such as @x + 1. The operand is nil for any other expression.
func changes(e syntax.Expr, name string) (op string, other syntax.Expr) {
	b, ok := e.(*syntax.Binary)
	if !ok || comparison(b.Op) || b.Op == "&&" || b.Op == "||" {
		return "", nil
	}
	if m, ok := b.X.(*syntax.Map); ok && m.Name == name {
		return b.Op, b.Y
	}
	if m, ok := b.Y.(*syntax.Map); ok && m.Name == name {
		return b.Op, b.X
	}
	return changes(b.X, name)
}

func (c *checker) jump(s *syntax.Jump) Stmt {
	out := &Jump{Pos: s.Pos, Word: s.Word}
	if s.Word != "return" {
		if c.loops == 0 {
			c.errorf(s.Pos, "%s stands outside of a loop", s.Word)
		}
		return out
	}
	switch {
	case c.function == nil:
		if s.Value == nil {
			return out
		}
		if x := c.value(s.Value); x.Type().Kind == types.Int {
			out.X = x // whether a test probe passed
		}
	case s.Value == nil:
		if c.function.result.Kind != types.None {
			c.errorf(s.Pos, "function %s returns %s", c.function.name, describe(c.function.result))
		}
	default:
		x := c.value(s.Value)
		if x.Type() == wrong || x.Type() == pending {
			return nil
		}
		if !compatible(x.Type(), c.function.result) {
			c.errorf(s.Pos, "function %s returns %s, not %s", c.function.name, describe(c.function.result), describe(x.Type()))
			return nil
		}
		out.X = c.convertTo(x, c.function.result)
	}
	return out
}
