package syntax

import (
	"fmt"
	"strconv"
	"strings"
)

func (w *printer) expr(x Expr) {
	switch x := x.(type) {
	case nil:
		w.word("none")
	case *Int:
		sign := ""
		if x.Negative {
			sign = "-"
		}
		w.word(sign + strconv.FormatUint(x.Value, 10))
	case *Str:
		w.word(strconv.Quote(x.Value))
	case *Bool:
		w.word(strconv.FormatBool(x.Value))
	case *Ident:
		w.word(x.Name)
	case *Positional:
		w.word("$" + strconv.Itoa(x.N))
	case *PositionalCount:
		w.word("$#")
	case *Var:
		w.word(x.Name)
	case *Map:
		if len(x.Keys) == 0 {
			w.word(x.Name)
		} else {
			w.exprs(x.Name, x.Keys)
		}
	case *Call:
		bang := ""
		if x.Bang {
			bang = "!"
		}
		w.exprs(x.Func+bang, x.Args)
	case *TypeArg:
		w.list("type", x.Type)
	case *Unary:
		op := x.Op
		if x.Postfix {
			op = "post" + op
		}
		w.list(op, x.X)
	case *Binary:
		w.list(x.Op, x.X, x.Y)
	case *Ternary:
		w.open("?")
		w.expr(x.Cond)
		if x.Then != nil {
			w.expr(x.Then)
		}
		w.expr(x.Else)
		w.close()
	case *Field:
		op := "."
		if x.Arrow {
			op = "->"
		}
		w.list(op, x.X, x.Name)
	case *Member:
		w.list(".", x.X, strconv.Itoa(x.N))
	case *Index:
		w.list("[]", x.X, x.Index)
	case *Cast:
		w.list("cast", x.Type, x.X)
	case *Tuple:
		w.exprs("tuple", x.Elems)
	case *Record:
		w.open("record")
		for i, name := range x.Names {
			w.list(name+"=", x.Elems[i])
		}
		w.close()
	case *Sizeof:
		w.typeOrExpr("sizeof", x.Type, x.X)
		w.close()
	case *Offsetof:
		w.typeOrExpr("offsetof", x.Type, x.X)
		w.word(strings.Join(x.Path, "."))
		w.close()
	case *BlockExpr:
		w.open("{}")
		w.stmts(x.Stmts)
		if x.Result != nil {
			w.list("=>", x.Result)
		}
		w.close()
	case *Comptime:
		w.list("comptime", x.X)
	default:
		w.word(fmt.Sprintf("%T", x))
	}
}

// typeOrExpr starts a list with a type or an expression.
func (w *printer) typeOrExpr(name string, t *TypeExpr, x Expr) {
	w.open(name)
	if t != nil {
		w.list("type", t)
	} else {
		w.expr(x)
	}
}
