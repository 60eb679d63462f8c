package check

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/script/syntax"
	"github.com/ringtap/ringtap/internal/script/types"
)

// facts returns a record of constants.
func (c *checker) facts(pos syntax.Pos, names []string, values []Expr) Expr {
	t := &types.Type{Kind: types.Record}
	for i, v := range values {
		t.Fields = append(t.Fields, types.Field{Name: names[i], Type: settle(v.Type())})
	}
	return &MakeTuple{Typed{pos, t}, values}
}

// allConstant tells whether a tuple or a record has only constants.
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

// checkTypeinfo is typeinfo(x) and typeinfo(TYPE): what a type is called, as constants.
func checkTypeinfo(c *checker, e *syntax.Call) Expr {
	t := c.typeOf(e.Args[0])
	if !known(t) {
		return unknownUntilFinal(c, e.Pos)
	}
	return c.facts(e.Pos, []string{"btf_id", "base_type", "full_type"},
		[]Expr{c.literal(e.Pos, 0), c.text(e.Pos, baseName(t)), c.text(e.Pos, fullName(t))})
}

// checkHasField is has_field(args.NAME), whether this kernel's probe has the argument, and
// has_field(X.NAME) or has_field(X->NAME), whether the struct has the member here, as a constant.
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
		member, _ := c.findField(t, f.Name)
		has = member != nil
	}
	return &Const{Typed: Typed{e.Pos, c.truthType()}, N: boolean(has)}
}

// noField notes that has_field() is about something else.
func (c *checker) noField(pos syntax.Pos) Expr {
	c.errorf(pos, "has_field() takes args.NAME or a member of a struct")
	return bad(pos)
}

// baseName returns the word for the sort of a type, as typeinfo has it.
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

// fullName returns the name of a type with its sizes, as typeinfo has it.
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

// settings is config: what the program runs with.
func (c *checker) settings(pos syntax.Pos) Expr {
	g := &c.prog.Config
	truth := func(b bool) Expr { return &Const{Typed: Typed{pos, c.truthType()}, N: boolean(b), literal: true} }
	return c.facts(pos, []string{
		"cpp_demangle", "lazy_symbolication", "print_maps_on_exit", "show_debug_info", "max_cat_bytes", "max_map_keys",
		"max_strlen", "str_trunc_trailer", "missing_probes", "stack_mode",
	}, []Expr{
		truth(g.CppDemangle), truth(g.LazySymbols), truth(g.PrintMaps), truth(g.ShowDebugInfo),
		c.literal(pos, uint64(g.MaxCatBytes)), c.literal(pos, uint64(g.MaxMapKeys)), c.literal(pos, uint64(g.MaxStrlen)),
		c.text(pos, g.StrTrailer), c.text(pos, g.MissingProbes), c.text(pos, g.StackMode),
	})
}

// checkContainer is container_of(pointer, TYPE, member): the pointer to what has the member.
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

// checkAssertStr is assert_str(x).
func checkAssertStr(c *checker, e *syntax.Call) Expr {
	x := c.expr(e.Args[0])
	t := x.Type()
	if known(t) && !stringy(t) && !(t.Kind == types.Pointer && t.Elem != nil && t.Elem.Kind == types.Int && t.Elem.Size == 1) {
		c.errorf(e.Args[0].Position(), "%s is no string, and no array or pointer of characters", describe(t))
		return bad(e.Pos)
	}
	return &BlockExpr{Typed: Typed{e.Pos, types.Void}, Body: &Block{Pos: e.Pos}}
}

// checkTask is ppid, pcomm, leader_tid and leader_comm, also of another task.
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

// checkComm is comm and comm(pid), which is read when the hit is handled.
func checkComm(c *checker, e *syntax.Call) Expr {
	if len(e.Args) == 0 {
		return c.ident(&syntax.Ident{Pos: e.Pos, Name: "comm"})
	}
	return ints(&types.Type{Kind: types.String, Size: 64})(c, e)
}

// argsValue is args as a value: a record of all arguments.
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
