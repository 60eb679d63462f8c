package check

import "github.com/ringtap/ringtap/internal/bpftrace/types"

// markProgramText sets types.Type.Program on arguments of printf, print and the like whose text is
// the program's own: literals, and variables that hold only literals. The printer escapes all other
// texts, because traced processes choose them.
func (p *Program) markProgramText() {
	t := programText{traced: map[*Var]bool{}, bodies: p.bodies()}
	for _, f := range p.Functions {
		for _, v := range f.params {
			t.traced[v] = true
		}
	}
	for t.spread() {
	}
	for _, body := range t.bodies {
		Walk(body, func(e Expr) {
			call, ok := e.(*Call)
			if !ok || call.T.Kind != types.None || call.Map != nil {
				return
			}
			for i, x := range call.Args {
				call.Args[i] = t.marked(x)
			}
		})
	}
}

// bodies returns the bodies of all clauses and functions.
func (p *Program) bodies() (all []*Block) {
	for _, c := range p.Clauses {
		all = append(all, c.Body)
	}
	for _, f := range p.Functions {
		all = append(all, f.Body)
	}
	return all
}

// A programText knows which variables may hold text of a traced process.
type programText struct {
	traced map[*Var]bool
	bodies []*Block
}

// spread marks variables that are assigned from marked variables. It returns false if it marked
// none.
func (t *programText) spread() bool {
	before := len(t.traced)
	visit := func(s Stmt) {
		switch s := s.(type) {
		case *SetVar:
			if s.X != nil && !t.own(s.X) {
				t.traced[s.Var] = true
			}
		case *ForMap:
			t.traced[s.Var] = true
		case *ForRange:
			t.traced[s.Var] = true
		}
	}
	for _, body := range t.bodies {
		Statements(body, visit)
		Walk(body, func(e Expr) {
			switch e := e.(type) {
			case *BlockExpr:
				Statements(e.Body, visit)
			case *Increment:
				if l, ok := e.Target.(*Local); ok {
					t.traced[l.Var] = true
				}
			case *Call:
				if e.Func != "find" { // it sets a variable
					return
				}
				for _, x := range e.Args {
					if l, ok := x.(*Local); ok {
						t.traced[l.Var] = true
					}
				}
			}
		})
	}
	return len(t.traced) > before
}

// own reports whether the value of x is part of the program.
func (t *programText) own(x Expr) bool {
	switch x := x.(type) {
	case *Const:
		return true
	case *Local:
		return !t.traced[x.Var]
	case *Cond:
		return t.own(x.A) && t.own(x.B)
	case *Convert:
		return t.own(x.X)
	}
	return false
}

// marked returns x with a type that says whether its text is the program's own.
func (t *programText) marked(x Expr) Expr {
	if tuple, ok := x.(*MakeTuple); ok {
		return t.markedTuple(tuple)
	}
	if kind := x.Type().Kind; kind != types.String && kind != types.Int || !t.own(x) {
		return x
	}
	of := *x.Type()
	of.Program = true
	switch x := x.(type) {
	case *Const:
		return &Const{Typed: Typed{x.Pos, &of}, N: x.N, S: x.S, literal: x.literal}
	case *Local:
		return &Local{Typed{x.Pos, &of}, x.Var}
	case *Cond:
		return &Cond{Typed{x.Pos, &of}, x.C, x.A, x.B}
	case *Convert:
		return &Convert{Typed{x.Pos, &of}, x.X}
	}
	return x
}

func (t *programText) markedTuple(x *MakeTuple) Expr {
	of := *x.T
	of.Fields = append([]types.Field(nil), of.Fields...)
	out := &MakeTuple{Typed: Typed{x.Pos, &of}}
	for i, e := range x.Elems {
		e = t.marked(e)
		if e.Type().Program {
			field := *of.Fields[i].Type
			field.Program = true
			of.Fields[i].Type = &field
		}
		out.Elems = append(out.Elems, e)
	}
	return out
}
