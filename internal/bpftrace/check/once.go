package check

import (
	"fmt"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
)

// compound copies @x[key] += value and the like, which read the element and then set it. A key that
// has effects or is expensive is stored in a variable first, so that it is evaluated once.
func (x *expander) compound(s *syntax.Assign) syntax.Stmt {
	out := &syntax.Assign{Pos: s.Pos, Op: s.Op, Left: x.expr(s.Left), Right: x.expr(s.Right)}
	m, ok := out.Left.(*syntax.Map)
	if !ok || s.Op == "=" {
		return out
	}
	keys := m.Keys
	if len(keys) == 1 {
		if t, ok := keys[0].(*syntax.Tuple); ok && len(t.Elems) > 1 {
			keys = t.Elems
		}
	}
	block := &syntax.Block{Pos: s.Pos}
	kept := make([]syntax.Expr, len(keys))
	for i, k := range keys {
		if kept[i] = k; free(k) {
			continue
		}
		name := fmt.Sprintf("$key'%d:%d:%d", s.Line, s.Col, i)
		block.Stmts = append(block.Stmts, &syntax.Let{Pos: k.Position(), Name: name, Value: k})
		kept[i] = &syntax.Var{Pos: k.Position(), Name: name}
	}
	if len(block.Stmts) == 0 {
		return out
	}
	out.Left = &syntax.Map{Pos: m.Pos, Name: m.Name, Keys: kept}
	block.Stmts = append(block.Stmts, out)
	return block
}

// free reports whether an expression may be evaluated twice.
func free(e syntax.Expr) bool {
	switch e := e.(type) {
	case *syntax.Int, *syntax.Str, *syntax.Bool, *syntax.Var, *syntax.Positional, *syntax.PositionalCount:
		return true
	case *syntax.Ident:
		return e.Name != "rand"
	case *syntax.Field:
		return free(e.X)
	case *syntax.Member:
		return free(e.X)
	case *syntax.Cast:
		return free(e.X)
	case *syntax.Unary:
		return e.Op != "++" && e.Op != "--" && free(e.X)
	case *syntax.Binary:
		return free(e.X) && free(e.Y)
	}
	return false
}
