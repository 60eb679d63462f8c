package check

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// facts returns a record of constants.
func (c *checker) facts(pos syntax.Pos, names []string, values []Expr) Expr {
	t := &types.Type{Kind: types.Record}
	for i, v := range values {
		t.Fields = append(t.Fields, types.Field{Name: names[i], Type: settle(v.Type())})
	}
	return &MakeTuple{Typed{pos, t}, values}
}

// allConstant returns x as a tuple or record. ok is false unless all its elements are constants.
func allConstant(x Expr) (*MakeTuple, bool) {
	t, ok := x.(*MakeTuple)
	if !ok {
		return nil, false
	}
	for _, e := range t.Elems {
		if _, ok := constant(e); !ok {
			return nil, false
		}
	}
	return t, true
}

// checkTypeinfo checks typeinfo(x) and typeinfo(TYPE), which is a record of names as constants.
func checkTypeinfo(c *checker, e *syntax.Call) Expr {
	t := c.typeOf(e.Args[0])
	if !known(t) {
		return unknownUntilFinal(c, e.Pos)
	}
	return c.facts(e.Pos, []string{"btf_id", "base_type", "full_type"},
		[]Expr{c.literal(e.Pos, 0), c.text(e.Pos, baseName(t)), c.text(e.Pos, fullName(t))})
}

// checkHasField checks has_field. It is a constant: whether this kernel's probe has the argument
// args.NAME, or whether a struct has the member in X.NAME or X->NAME.
func checkHasField(c *checker, e *syntax.Call) Expr {
	f, ok := e.Args[0].(*syntax.Field)
	if !ok {
		return c.noField(e.Pos)
	}
	has := false
	if id, ok := f.X.(*syntax.Ident); ok && id.Name == "args" {
		if c.args(e.Pos) == nil {
			return bad(e.Pos)
		}
		has = c.hasArgument(f.Name)
	} else {
		t := c.typeOf(f.X)
		if t == wrong {
			return bad(e.Pos)
		}
		if !known(t) {
			return unknownUntilFinal(c, e.Pos)
		}
		if t.Kind == types.Pointer && t.Elem != nil {
			t = t.Elem
		}
		if t.Kind != types.Struct {
			return c.noField(e.Pos)
		}
		_, has = c.findField(t, f.Name)
	}
	return &Const{Typed: Typed{e.Pos, c.truthType()}, N: boolean(has)}
}

// noField reports that the argument of has_field() is of another kind.
func (c *checker) noField(pos syntax.Pos) Expr {
	c.errorf(pos, "has_field() takes args.NAME or a member of a struct")
	return bad(pos)
}

// baseName returns typeinfo's word for the kind of a type.
func baseName(t *types.Type) string {
	switch t.Kind {
	case types.None:
		return "void"
	case types.Int:
		return "int"
	case types.Struct:
		return "c_type"
	case types.KSym, types.USym, types.Username, types.CgroupPath, types.Count, types.Sum, types.Min, types.Max,
		types.Avg, types.Stats, types.Hist, types.LHist, types.TSeries:
		return t.Kind.Name() + "_t"
	case types.ProbeName:
		return "string"
	}
	return t.Kind.Name()
}

// fullName returns typeinfo's name of a type with its sizes.
func fullName(t *types.Type) string {
	switch t.Kind {
	case types.Int, types.Struct:
		return describe(t)
	case types.String, types.Buffer, types.Inet:
		if t.Size == 0 {
			return baseName(t)
		}
		return fmt.Sprintf("%s[%d]", baseName(t), t.Size)
	case types.Pointer:
		if t.Elem == nil {
			return "void *"
		}
		return fullName(t.Elem) + " *"
	case types.Array:
		return fmt.Sprintf("%s[%d]", fullName(t.Elem), t.Len)
	case types.Tuple, types.Record:
		var list []string
		for _, f := range t.Fields {
			name := fullName(f.Type)
			if t.Kind == types.Record {
				name = "." + f.Name + " = " + name
			}
			list = append(list, name)
		}
		if t.Kind == types.Record {
			return "record { " + strings.Join(list, ", ") + " }"
		}
		return "(" + strings.Join(list, ",") + ")"
	case types.Sum, types.Min, types.Max, types.Avg, types.Stats:
		if !t.Signed {
			return "u" + baseName(t)
		}
	}
	return baseName(t)
}

// settings checks config, a record of the program's settings.
func (c *checker) settings(pos syntax.Pos) Expr {
	g := &c.prog.Config
	truth := func(b bool) Expr { return &Const{Typed: Typed{pos, c.truthType()}, N: boolean(b), literal: true} }
	return c.facts(pos, []string{
		"cpp_demangle", "lazy_symbolication", "print_maps_on_exit", "show_debug_info", "max_cat_bytes", "max_map_keys",
		"max_strlen", "str_trunc_trailer", "missing_probes", "stack_mode",
	}, []Expr{
		truth(g.CppDemangle), truth(g.lazySymbols), truth(g.PrintMaps), truth(g.ShowDebugInfo),
		c.literal(pos, uint64(g.MaxCatBytes)), c.literal(pos, uint64(g.MaxMapKeys)), c.literal(pos, uint64(g.MaxStrlen)),
		c.text(pos, g.StrTrailer), c.text(pos, g.MissingProbes), c.text(pos, g.stackMode),
	})
}

// checkContainer checks container_of(pointer, TYPE, member): a pointer to the TYPE whose member
// pointer points to.
func checkContainer(c *checker, e *syntax.Call) Expr {
	typ, okType := e.Args[1].(*syntax.TypeArg)
	if id, ok := e.Args[1].(*syntax.Ident); ok {
		typ, okType = &syntax.TypeArg{Pos: id.Pos, Type: &syntax.TypeExpr{Pos: id.Pos, Base: id.Name}}, true
	}
	path, okPath := memberPath(e.Args[2])
	if !okType || !okPath {
		c.hintf(e.Pos, "container_of($pointer, struct NAME, member)", "container_of() takes a pointer, a type and a member of it")
		return bad(e.Pos)
	}
	pointer := func(t *syntax.TypeExpr) *syntax.TypeExpr {
		u := *t
		u.Modifiers = append(append([]syntax.Modifier(nil), t.Modifiers...), syntax.Modifier{Pointer: true})
		return &u
	}
	address := &syntax.Cast{Pos: e.Pos, Type: pointer(&syntax.TypeExpr{Pos: e.Pos, Base: "void"}), X: e.Args[0]}
	offset := &syntax.Offsetof{Pos: e.Args[2].Position(), Type: typ.Type, Path: path}
	return c.expr(&syntax.Cast{Pos: e.Pos, Type: pointer(typ.Type), X: &syntax.Binary{Pos: e.Pos, Op: "-", X: address, Y: offset}})
}

// memberPath returns the names in a.b.c.
func memberPath(e syntax.Expr) ([]string, bool) {
	switch e := e.(type) {
	case *syntax.Ident:
		return []string{e.Name}, true
	case *syntax.Field:
		list, ok := memberPath(e.X)
		return append(list, e.Name), ok
	}
	return nil, false
}

// checkAssertStr checks assert_str(x).
func checkAssertStr(c *checker, e *syntax.Call) Expr {
	x := c.expr(e.Args[0])
	t := x.Type()
	if known(t) && !stringy(t) && !(t.Kind == types.Pointer && t.Elem != nil && t.Elem.Kind == types.Int && t.Elem.Size == 1) {
		c.errorf(e.Args[0].Position(), "%s is no string, and no array or pointer of characters", describe(t))
		return bad(e.Pos)
	}
	return &BlockExpr{Typed: Typed{e.Pos, types.Void}, Body: &Block{Pos: e.Pos}}
}

// checkTask checks ppid, pcomm, leader_tid and leader_comm, for the current task or another one.
func checkTask(c *checker, e *syntax.Call) Expr {
	if len(e.Args) == 0 {
		return c.ident(&syntax.Ident{Pos: e.Pos, Name: e.Func})
	}
	member := func(x syntax.Expr, name string) syntax.Expr { return &syntax.Field{Pos: e.Pos, X: x, Name: name} }
	switch e.Func {
	case "ppid":
		return c.expr(member(member(e.Args[0], "real_parent"), "pid"))
	case "pcomm":
		return c.expr(member(member(e.Args[0], "real_parent"), "comm"))
	case "leader_tid":
		return c.expr(member(member(e.Args[0], "group_leader"), "pid"))
	}
	return c.expr(member(member(e.Args[0], "group_leader"), "comm"))
}

// checkComm checks comm and comm(pid). The latter is read when the hit is handled.
func checkComm(c *checker, e *syntax.Call) Expr {
	if len(e.Args) == 0 {
		return c.ident(&syntax.Ident{Pos: e.Pos, Name: "comm"})
	}
	return ints(&types.Type{Kind: types.String, Size: 64})(c, e)
}

// argsValue checks args as a value: a record of all arguments.
func (c *checker) argsValue(pos syntax.Pos) Expr {
	t := c.args(pos)
	if t == nil {
		return bad(pos)
	}
	out := &MakeTuple{Typed: Typed{pos, &types.Type{Kind: types.Record}}}
	for _, f := range t.Fields {
		if f.Name == "" {
			continue
		}
		x := c.argsField(&syntax.Field{Pos: pos, Name: f.Name})
		out.T.Fields = append(out.T.Fields, types.Field{Name: f.Name, Type: x.Type()})
		out.Elems = append(out.Elems, x)
	}
	return out
}
