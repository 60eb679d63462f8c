package check

import (
	"slices"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// unfold turns jumps in block expressions into jumps between statements. If a statement evaluates
// the block first, the block's statements move in front of it. A jump elsewhere in a statement is
// an error, because a part of the statement would already have run.
func (c *checker) unfold(body *Block, predicate Expr) {
	var blocks []*BlockExpr
	note := func(e Expr) {
		if b, ok := e.(*BlockExpr); ok {
			blocks = append(blocks, b)
		}
	}
	Walk(body, note)
	if len(blocks) == 0 && predicate == nil {
		return
	}
	for _, b := range slices.Backward(blocks) {
		unfoldIn(b.Body)
	}
	unfoldIn(body)
	blocks = nil
	if predicate != nil {
		Walk(predicate, note)
	}
	Walk(body, note)
	for _, b := range blocks {
		if j := leaves(b.Body, false); j != nil {
			c.hintf(j.Pos, "give the block to a variable of its own before: $x = { … };", "%s stands in the middle of a statement", j.Word)
		}
	}
}

// unfoldIn moves the statements of block expressions that jump in front of the statements that
// contain them.
func unfoldIn(s Stmt) {
	b, ok := s.(*Block)
	if !ok {
		for _, t := range inner(s) {
			unfoldIn(t)
		}
		return
	}
	var out []Stmt
	for _, t := range b.Stmts {
		unfoldIn(t)
		out = append(out, split(t)...)
	}
	b.Stmts = out
}

// split returns s, preceded by the statements of the block that it evaluates first if that block
// jumps.
func split(s Stmt) []Stmt {
	var out []Stmt
	x := first(s)
	for x != nil {
		switch e := (*x).(type) {
		case *Convert:
			x = &e.X
			continue
		case *BlockExpr:
			if leaves(e.Body, false) != nil {
				out = append(out, e.Body.Stmts...)
				*x = e.Result
				continue
			}
		}
		break
	}
	return append(out, s)
}

// first returns a pointer to the expression that a statement evaluates first, or nil.
func first(s Stmt) *Expr {
	switch s := s.(type) {
	case *Do:
		if call, ok := s.X.(*Call); ok && len(call.Args) > 0 {
			return &call.Args[0]
		}
		return &s.X
	case *SetVar:
		return &s.X
	case *SetMap:
		return &s.X
	case *Aggregate:
		return &s.X
	case *If:
		return &s.C
	case *Jump:
		return &s.X
	}
	return nil
}

// leaves returns a jump that leaves s, or nil. loop says that s is in a loop that break and
// continue stay in.
func leaves(s Stmt, loop bool) *Jump {
	switch s := s.(type) {
	case *Jump:
		if s.Word == "return" || !loop {
			return s
		}
	case *While, *ForMap, *ForRange, *Unroll:
		loop = true
	}
	for _, t := range inner(s) {
		if j := leaves(t, loop); j != nil {
			return j
		}
	}
	return nil
}

// inner returns the statements directly inside a statement.
func inner(s Stmt) []Stmt {
	switch s := s.(type) {
	case *If:
		if s.Else != nil {
			return []Stmt{s.Then, s.Else}
		}
		return []Stmt{s.Then}
	case *While:
		return []Stmt{s.Body}
	case *ForMap:
		return []Stmt{s.Body}
	case *ForRange:
		return []Stmt{s.Body}
	case *Unroll:
		return []Stmt{s.Body}
	case *Block:
		return s.Stmts
	}
	return nil
}

// do returns a statement that evaluates x for its effects. Expressions without a value become
// statements.
func (c *checker) do(x Expr) Stmt {
	switch x := x.(type) {
	case *Cond:
		if x.T.Kind == types.None {
			block := func(e Expr) *Block { return &Block{e.Position(), []Stmt{c.do(e)}} }
			return &If{x.Pos, x.C, block(x.A), block(x.B)}
		}
	case *BlockExpr:
		if x.Result == nil {
			return x.Body
		}
		return &Block{x.Pos, append(slices.Clone(x.Body.Stmts), c.do(x.Result))}
	}
	return &Do{Pos: x.Position(), X: x}
}
