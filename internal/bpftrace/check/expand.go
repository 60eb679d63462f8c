package check

import (
	"fmt"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
)

// maxExpansions bounds the macro calls that a program may expand to.
const maxExpansions = 10_000

// maxMacroDepth bounds how deep macro calls may nest.
const maxMacroDepth = 64

// An expander copies syntax trees and replaces macro calls by their bodies.
type expander struct {
	c      *checker
	macros map[string][]*syntax.Macro
	count  int
	depth  int

	// The macro that is being expanded, or nil.
	inside *syntax.Macro
	loops  int // loops of the macro that enclose the statement being copied
	exprs  map[string]syntax.Expr
	vars   map[string]string
	maps   map[string]string
}

// expandMacros returns the program with all macro calls expanded.
func (c *checker) expandMacros(p *syntax.Program) *syntax.Program {
	x := &expander{c: c, macros: map[string][]*syntax.Macro{}}
	for _, m := range p.Macros {
		for _, other := range x.macros[m.Name] {
			if len(other.Params) == len(m.Params) {
				c.errorf(m.Pos, "macro %s with %d parameters is defined twice", m.Name, len(m.Params))
			}
		}
		x.macros[m.Name] = append(x.macros[m.Name], m)
	}
	out := *p
	out.Functions = nil
	for _, f := range p.Functions {
		g := *f
		g.Body = x.block(f.Body)
		out.Functions = append(out.Functions, &g)
	}
	out.Probes = nil
	for _, probe := range p.Probes {
		q := *probe
		q.Predicate = x.expr(probe.Predicate)
		q.Body = x.block(probe.Body)
		out.Probes = append(out.Probes, &q)
	}
	return &out
}

// find returns the macro with this name and number of parameters, or nil.
func (x *expander) find(name string, args []syntax.Expr) *syntax.Macro {
	var found *syntax.Macro
	for _, m := range x.macros[name] {
		if len(m.Params) == len(args) {
			found = m
		}
	}
	return found
}

// call expands a macro call.
func (x *expander) call(pos syntax.Pos, m *syntax.Macro, args []syntax.Expr) syntax.Expr {
	x.count++
	if x.depth >= maxMacroDepth || x.count > maxExpansions {
		x.c.errorf(pos, "macro %s calls itself without end, or expands too often", m.Name)
		return &syntax.Int{Pos: pos}
	}
	inner := &expander{
		c: x.c, macros: x.macros, count: x.count, depth: x.depth + 1, inside: m,
		exprs: map[string]syntax.Expr{}, vars: map[string]string{}, maps: map[string]string{},
	}
	for i, p := range m.Params {
		arg := args[i]
		switch p.Name[0] {
		case '$':
			v, ok := arg.(*syntax.Var)
			if !ok {
				x.c.errorf(arg.Position(), "macro %s wants a variable as its argument %d (%s)", m.Name, i+1, p.Name)
				return &syntax.Int{Pos: pos}
			}
			inner.vars[p.Name] = v.Name
		case '@':
			v, ok := arg.(*syntax.Map)
			if !ok || len(v.Keys) > 0 {
				x.c.errorf(arg.Position(), "macro %s wants a map as its argument %d (%s)", m.Name, i+1, p.Name)
				return &syntax.Int{Pos: pos}
			}
			inner.maps[p.Name] = v.Name
		default:
			inner.exprs[p.Name] = arg
		}
	}
	body := &syntax.BlockExpr{Pos: pos, Stmts: inner.stmts(m.Body.Stmts), Result: inner.expr(m.Body.Result)}
	x.count = inner.count
	return body
}

// variable returns the name of a variable in the expansion. The macro's own variables are renamed,
// so they differ from the caller's.
func (x *expander) variable(name string) string {
	if x.inside == nil {
		return name
	}
	if n, ok := x.vars[name]; ok {
		return n
	}
	n := fmt.Sprintf("%s'%d", name, x.count)
	x.vars[name] = n
	return n
}

func (x *expander) mapName(pos syntax.Pos, name string) string {
	if x.inside == nil {
		return name
	}
	if n, ok := x.maps[name]; ok {
		return n
	}
	x.c.errorf(pos, "macro %s uses the map %s, which it does not get as an argument", x.inside.Name, name)
	return name
}

// ident replaces a macro parameter, or a macro without parameters.
func (x *expander) ident(e *syntax.Ident) syntax.Expr {
	if arg, ok := x.exprs[e.Name]; ok {
		return arg
	}
	if m := x.find(e.Name, nil); m != nil {
		return x.call(e.Pos, m, nil)
	}
	return e
}

func (x *expander) exprList(list []syntax.Expr) []syntax.Expr {
	if list == nil {
		return nil
	}
	out := make([]syntax.Expr, len(list))
	for i, e := range list {
		out[i] = x.expr(e)
	}
	return out
}

func (x *expander) expr(e syntax.Expr) syntax.Expr {
	switch e := e.(type) {
	case nil:
		return nil
	case *syntax.Ident:
		return x.ident(e)
	case *syntax.Var:
		return &syntax.Var{Pos: e.Pos, Name: x.variable(e.Name)}
	case *syntax.Map:
		return &syntax.Map{Pos: e.Pos, Name: x.mapName(e.Pos, e.Name), Keys: x.exprList(e.Keys)}
	case *syntax.Call:
		args := x.exprList(e.Args)
		if m := x.find(e.Func, args); m != nil {
			return x.call(e.Pos, m, args)
		}
		if list := x.macros[e.Func]; e.Bang || len(list) > 0 && lookup(e.Func) == nil && !contains(builtinNames, e.Func) {
			if len(list) == 0 {
				x.c.errorf(e.Pos, "no macro is named %s", e.Func)
			} else {
				x.c.errorf(e.Pos, "macro %s takes %s, not %d", e.Func, arguments(len(list[0].Params)), len(args))
			}
			return &syntax.Int{Pos: e.Pos}
		}
		return &syntax.Call{Pos: e.Pos, Func: e.Func, Args: args}
	case *syntax.TypeArg:
		return &syntax.TypeArg{Pos: e.Pos, Type: x.typ(e.Type)}
	case *syntax.Unary:
		return &syntax.Unary{Pos: e.Pos, Op: e.Op, X: x.expr(e.X), Postfix: e.Postfix}
	case *syntax.Binary:
		return &syntax.Binary{Pos: e.Pos, Op: e.Op, X: x.expr(e.X), Y: x.expr(e.Y)}
	case *syntax.Ternary:
		return &syntax.Ternary{Pos: e.Pos, Cond: x.expr(e.Cond), Then: x.expr(e.Then), Else: x.expr(e.Else)}
	case *syntax.Field:
		return &syntax.Field{Pos: e.Pos, X: x.expr(e.X), Name: e.Name, Arrow: e.Arrow}
	case *syntax.Member:
		return &syntax.Member{Pos: e.Pos, X: x.expr(e.X), N: e.N}
	case *syntax.Index:
		return &syntax.Index{Pos: e.Pos, X: x.expr(e.X), Index: x.expr(e.Index)}
	case *syntax.Cast:
		return &syntax.Cast{Pos: e.Pos, Type: x.typ(e.Type), X: x.expr(e.X)}
	case *syntax.Tuple:
		return &syntax.Tuple{Pos: e.Pos, Elems: x.exprList(e.Elems)}
	case *syntax.Record:
		return &syntax.Record{Pos: e.Pos, Names: e.Names, Elems: x.exprList(e.Elems)}
	case *syntax.Sizeof:
		return &syntax.Sizeof{Pos: e.Pos, Type: x.typ(e.Type), X: x.expr(e.X)}
	case *syntax.Offsetof:
		return &syntax.Offsetof{Pos: e.Pos, Type: x.typ(e.Type), X: x.expr(e.X), Path: e.Path}
	case *syntax.BlockExpr:
		return &syntax.BlockExpr{Pos: e.Pos, Stmts: x.stmts(e.Stmts), Result: x.expr(e.Result)}
	case *syntax.Comptime:
		return &syntax.Comptime{Pos: e.Pos, X: x.expr(e.X)}
	}
	return e
}

// typ replaces macro parameters that stand for types.
func (x *expander) typ(t *syntax.TypeExpr) *syntax.TypeExpr {
	if t == nil {
		return nil
	}
	u := *t
	u.Typeof = x.expr(t.Typeof)
	u.Tuple = nil
	for _, e := range t.Tuple {
		u.Tuple = append(u.Tuple, x.typ(e))
	}
	if arg, ok := x.exprs[t.Base]; ok {
		if a, ok := arg.(*syntax.TypeArg); ok {
			u = *a.Type
			u.Modifiers = append(append([]syntax.Modifier(nil), a.Type.Modifiers...), t.Modifiers...)
		} else {
			u.Base, u.Typeof = "", arg // as in typeof(x) and sizeof(x)
		}
	}
	return &u
}

func (x *expander) block(b *syntax.Block) *syntax.Block {
	if b == nil {
		return nil
	}
	return &syntax.Block{Pos: b.Pos, Stmts: x.stmts(b.Stmts)}
}

func (x *expander) loop(b *syntax.Block) *syntax.Block {
	x.loops++
	defer func() { x.loops-- }()
	return x.block(b)
}

func (x *expander) stmts(list []syntax.Stmt) []syntax.Stmt {
	out := make([]syntax.Stmt, 0, len(list))
	for _, s := range list {
		out = append(out, x.stmt(s))
	}
	return out
}

func (x *expander) stmt(s syntax.Stmt) syntax.Stmt {
	switch s := s.(type) {
	case *syntax.ExprStmt:
		return &syntax.ExprStmt{Pos: s.Pos, X: x.expr(s.X)}
	case *syntax.Assign:
		return x.compound(s)
	case *syntax.Let:
		value := x.expr(s.Value)
		return &syntax.Let{Pos: s.Pos, Name: x.variable(s.Name), Type: x.typ(s.Type), Value: value}
	case *syntax.If:
		out := &syntax.If{Pos: s.Pos, Cond: x.expr(s.Cond), Then: x.block(s.Then)}
		if s.Else != nil {
			out.Else = x.stmt(s.Else)
		}
		return out
	case *syntax.While:
		return &syntax.While{Pos: s.Pos, Cond: x.expr(s.Cond), Body: x.loop(s.Body)}
	case *syntax.ForMap:
		m, _ := x.expr(s.Map).(*syntax.Map)
		return &syntax.ForMap{Pos: s.Pos, Var: x.variable(s.Var), Map: m, Body: x.loop(s.Body)}
	case *syntax.ForRange:
		return &syntax.ForRange{Pos: s.Pos, First: x.expr(s.First), End: x.expr(s.End), Var: x.variable(s.Var), Body: x.loop(s.Body)}
	case *syntax.Unroll:
		return &syntax.Unroll{Pos: s.Pos, Count: x.expr(s.Count), Body: x.loop(s.Body)}
	case *syntax.Jump:
		if x.inside != nil && (s.Word == "return" || x.loops == 0) {
			x.c.hintf(s.Pos, "a function can: fn "+x.inside.Name+"(…)", "%s cannot leave macro %s", s.Word, x.inside.Name)
		}
		return &syntax.Jump{Pos: s.Pos, Word: s.Word, Value: x.expr(s.Value)}
	case *syntax.Block:
		return x.block(s)
	}
	return s
}
