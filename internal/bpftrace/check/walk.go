package check

import "github.com/ringtap/ringtap/internal/bpftrace/syntax"

// Walk calls f for every expression in n, outer ones first.
func Walk(n syntax.Node, f func(Expr)) {
	w := walker{f}
	if e, ok := n.(Expr); ok {
		w.expr(e)
		return
	}
	w.stmt(n)
}

type walker struct{ f func(Expr) }

func (w walker) list(list []Expr) {
	for _, e := range list {
		w.expr(e)
	}
}

func (w walker) expr(e Expr) {
	if e == nil {
		return
	}
	w.f(e)
	switch e := e.(type) {
	case *Element:
		w.list(e.Keys)
		w.expr(e.Whole)
	case *Load:
		w.expr(e.Addr)
	case *Read:
		w.expr(e.Addr)
		w.expr(e.Len)
	case *Part:
		w.expr(e.X)
		w.expr(e.Index)
	case *Member:
		w.expr(e.X)
	case *Unary:
		w.expr(e.X)
	case *Binary:
		w.expr(e.X)
		w.expr(e.Y)
	case *Increment:
		w.expr(e.Target)
	case *Cond:
		w.expr(e.C)
		w.expr(e.A)
		w.expr(e.B)
	case *Convert:
		w.expr(e.X)
	case *MakeTuple:
		w.list(e.Elems)
	case *Call:
		w.list(e.Args)
	case *Invoke:
		w.list(e.Args)
	case *BlockExpr:
		w.stmt(e.Body)
		w.expr(e.Result)
	}
}

func (w walker) stmt(s Stmt) {
	switch s := s.(type) {
	case *Do:
		w.expr(s.X)
	case *SetVar:
		w.expr(s.X)
	case *SetMap:
		w.expr(s.Elem)
		w.expr(s.X)
	case *Aggregate:
		w.expr(s.Elem)
		w.expr(s.X)
	case *If:
		w.expr(s.C)
		w.stmt(s.Then)
		if s.Else != nil {
			w.stmt(s.Else)
		}
	case *While:
		w.expr(s.C)
		w.stmt(s.Body)
	case *ForMap:
		w.stmt(s.Body)
	case *ForRange:
		w.expr(s.First)
		w.expr(s.End)
		w.stmt(s.Body)
	case *Unroll:
		w.stmt(s.Body)
	case *Jump:
		w.expr(s.X)
	case *Block:
		for _, t := range s.Stmts {
			w.stmt(t)
		}
	}
}

// prune drops sources that are needed only to form others. str(arg0), for example, does not need
// arg0 itself.
func (c *Clause) prune() {
	for c.dropUnread() {
	}
	index := make([]int, len(c.Sources))
	c.walk(func(e Expr) {
		if f, ok := e.(*FromHit); ok {
			index[f.Source] = 1
		}
	})
	var kept []*Source
	for i, s := range c.Sources {
		if index[i] == 1 {
			index[i] = len(kept)
			kept = append(kept, s)
		}
	}
	moved := map[*FromHit]bool{}
	c.walk(func(e Expr) {
		if f, ok := e.(*FromHit); ok && !moved[f] {
			moved[f] = true
			f.Source = index[f.Source]
		}
	})
	c.Sources = kept
}

func (c *Clause) walk(f func(Expr)) {
	if c.Predicate != nil {
		Walk(c.Predicate, f)
	}
	Walk(c.Body, f)
}

// dropUnread drops the values assigned to variables that nothing reads, because what they point to
// has a source of its own. It returns false if there was none.
func (c *Clause) dropUnread() bool {
	read := map[*Var]bool{}
	c.walk(func(e Expr) {
		if l, ok := e.(*Local); ok {
			read[l.Var] = true
		}
	})
	dropped := false
	Statements(c.Body, func(s Stmt) {
		if s, ok := s.(*SetVar); ok && s.X != nil && !read[s.Var] && pure(s.X) {
			s.X, dropped = nil, true
		}
	})
	return dropped
}

// Statements calls f for a statement and every statement in it, except statements in block
// expressions.
func Statements(s Stmt, f func(Stmt)) {
	f(s)
	for _, t := range inner(s) {
		Statements(t, f)
	}
}

// pure reports whether evaluating an expression has no effects.
func pure(e Expr) bool {
	ok := true
	Walk(e, func(e Expr) {
		switch e.(type) {
		case *Const, *Local, *FromHit, *Convert, *Binary, *Load, *Part, *Header:
		default:
			ok = false
		}
	})
	return ok
}
