package syntax

import (
	"fmt"
	"strconv"
	"strings"
)

// String returns the tree as S-expressions, one line per declaration. Each starts with a kind or
// operator: @a[pid] = count() is (= (@a pid) (count)).
func (p *Program) String() string {
	var w printer
	for _, d := range p.Definitions {
		w.definition(d)
		w.byte('\n')
	}
	for _, s := range p.Config {
		w.list("config", s.Name, s.Value)
		w.byte('\n')
	}
	for _, m := range p.Maps {
		w.list("let", m.Name, m.Kind, m.Size)
		w.byte('\n')
	}
	for _, m := range p.Macros {
		w.open("macro", m.Name)
		w.open("")
		for _, param := range m.Params {
			w.word(param.Name)
		}
		w.close()
		w.expr(m.Body)
		w.close()
		w.byte('\n')
	}
	for _, f := range p.Functions {
		w.open("fn", f.Name)
		for _, param := range f.Params {
			w.list("param", param.Name, param.Type)
		}
		w.typ(f.Result)
		w.stmt(f.Body)
		w.close()
		w.byte('\n')
	}
	for _, probe := range p.Probes {
		w.open("probe")
		for _, point := range probe.Points {
			w.word(strconv.Quote(point.Text))
		}
		if probe.Predicate != nil {
			w.list("if", probe.Predicate)
		}
		w.stmts(probe.Body.Stmts)
		w.close()
		w.byte('\n')
	}
	return w.String()
}

// printer prints nested lists in parentheses.
type printer struct {
	strings.Builder
	follows bool // the next word in the list needs a space before it
}

func (w *printer) byte(c byte) {
	w.WriteByte(c)
	w.follows = false
}

func (w *printer) word(s string) {
	if w.follows {
		w.WriteByte(' ')
	}
	w.WriteString(s)
	w.follows = true
}

// open starts a list. It omits empty words.
func (w *printer) open(words ...string) {
	if w.follows {
		w.WriteByte(' ')
	}
	w.byte('(')
	for _, s := range words {
		if s != "" {
			w.word(s)
		}
	}
}

func (w *printer) close() {
	w.WriteByte(')')
	w.follows = true
}

// list prints a list of words, types, expressions and statements.
func (w *printer) list(name string, parts ...any) {
	w.open(name)
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			w.word(part)
		case *TypeExpr:
			w.typ(part)
		case Expr:
			w.expr(part)
		case Stmt:
			w.stmt(part)
		}
	}
	w.close()
}

func (w *printer) definition(d Definition) {
	switch d := d.(type) {
	case *StructDef:
		w.open("define", d.Name)
		if d.Packed {
			w.word("packed")
		}
		if d.Align > 0 {
			w.word(fmt.Sprintf("aligned=%d", d.Align))
		}
		for _, f := range d.Fields {
			w.open(f.Name)
			w.typ(f.Type)
			if f.Bits > 0 {
				w.word(fmt.Sprintf("bits=%d", f.Bits))
			}
			if f.Packed {
				w.word("packed")
			}
			if f.Align > 0 {
				w.word(fmt.Sprintf("aligned=%d", f.Align))
			}
			w.close()
		}
		w.close()
	case *EnumDef:
		w.open("define", d.Name)
		for _, v := range d.Values {
			w.word(fmt.Sprintf("%s=%d", v.Name, v.Value))
		}
		w.close()
	case *TypedefDef:
		w.list("typedef", d.Name, d.Type)
	}
}

// String returns the type in the language's notation.
func (t *TypeExpr) String() string {
	var w printer
	w.typ(t)
	return w.String()
}

func (w *printer) typ(t *TypeExpr) {
	switch {
	case t == nil:
		w.word("none")
		return
	case t.Typeof != nil:
		w.list("typeof", t.Typeof)
	case t.Tuple != nil:
		w.open("tuple")
		for _, e := range t.Tuple {
			w.typ(e)
		}
		w.close()
	default:
		w.word(t.Base)
	}
	for _, m := range t.Modifiers {
		switch {
		case m.Pointer:
			w.WriteByte('*')
		case m.Len < 0:
			w.WriteString("[]")
		default:
			fmt.Fprintf(w, "[%d]", m.Len)
		}
	}
}

func (w *printer) stmts(list []Stmt) {
	for _, s := range list {
		w.stmt(s)
	}
}

func (w *printer) stmt(s Stmt) {
	switch s := s.(type) {
	case *ExprStmt:
		w.expr(s.X)
	case *Assign:
		if s.Left == nil {
			w.list(s.Op, "_", s.Right)
		} else {
			w.list(s.Op, s.Left, s.Right)
		}
	case *Let:
		w.open("let", s.Name)
		if s.Type != nil {
			w.word(":")
			w.typ(s.Type)
		}
		if s.Value != nil {
			w.expr(s.Value)
		}
		w.close()
	case *If:
		w.open("if")
		w.expr(s.Cond)
		w.stmt(s.Then)
		if s.Else != nil {
			w.stmt(s.Else)
		}
		w.close()
	case *While:
		w.list("while", s.Cond, Stmt(s.Body))
	case *ForMap:
		w.list("for", s.Var, s.Map, Stmt(s.Body))
	case *ForRange:
		w.list("for", s.Var, s.First, s.End, Stmt(s.Body))
	case *Unroll:
		w.list("unroll", s.Count, Stmt(s.Body))
	case *Jump:
		w.open(s.Word)
		if s.Value != nil {
			w.expr(s.Value)
		}
		w.close()
	case *Block:
		w.open("{}")
		w.stmts(s.Stmts)
		w.close()
	}
}

func (w *printer) exprs(name string, list []Expr) {
	w.open(name)
	for _, x := range list {
		w.expr(x)
	}
	w.close()
}
