package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// bad returns a placeholder for a wrong expression.
func bad(pos syntax.Pos) Expr { return &Const{Typed: Typed{pos, wrong}} }

// unknown returns a placeholder for an expression whose type is not known yet.
func unknown(pos syntax.Pos) Expr { return &Const{Typed: Typed{pos, pending}} }

// constant returns x as a constant. ok is false if it is none, or if its type is not known.
func constant(x Expr) (*Const, bool) {
	k, ok := x.(*Const)
	return k, ok && known(k.T)
}

func truth(k *Const) bool {
	if k.T.Kind == types.String {
		return k.S != ""
	}
	return k.N != 0
}

// condition checks that x can be true or false.
func (c *checker) condition(x Expr) Expr {
	if f, ok := x.(*FromHit); ok && c.clause != nil {
		if s := c.clause.Sources[f.Source]; s.Root == TaskRoot && len(s.Path) == 0 && s.Form == Plain {
			return &Const{Typed: Typed{f.Pos, types.Truth}, N: 1} // every CPU runs a task
		}
	}
	switch t := x.Type(); {
	case !known(t) || t.Kind == types.Int || t.Kind == types.Bool || t.Kind == types.Pointer || castable(t):
	default:
		if k, ok := constant(x); ok && t.Kind == types.String {
			return &Const{Typed: Typed{k.Pos, types.Truth}, N: boolean(k.S != "")}
		}
		c.errorf(x.Position(), "%s is neither true nor false", describe(t))
	}
	return x
}

func boolean(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// compatible reports whether a value of type from can be stored as type to without a cast.
func compatible(from, to *types.Type) bool {
	switch {
	case !known(from) || !known(to):
		return true
	case integral(from) && integral(to):
		return true
	case from.Kind != to.Kind:
		return false
	case from.Kind == types.Tuple || from.Kind == types.Record:
		if len(from.Fields) != len(to.Fields) {
			return false
		}
		for i, f := range to.Fields {
			j := Counterpart(from, i, f.Name)
			if j < 0 || !compatible(from.Fields[j].Type, f.Type) {
				return false
			}
		}
		return true
	case from.Kind == types.String || from.Kind == types.Buffer || from.Kind == types.Pointer || from.Kind == types.Bool:
		return true
	}
	return equal(from, to)
}

// Counterpart returns the index of the field of from that becomes field i, called name, of another
// tuple or record. Fields of tuples have no names and keep their positions. It returns -1 if there
// is none.
func Counterpart(from *types.Type, i int, name string) int {
	if i < len(from.Fields) && from.Fields[i].Name == name {
		return i
	}
	if name == "" {
		return -1
	}
	return slices.IndexFunc(from.Fields, func(f types.Field) bool { return f.Name == name })
}

// reordered reports whether to has the fields of the record from in another order. The elements of
// a record are evaluated in the order that the program gives.
func reordered(from, to *types.Type) bool {
	for i, f := range to.Fields {
		if Counterpart(from, i, f.Name) != i {
			return true
		}
	}
	return false
}

// convertTo returns x converted to type t.
func (c *checker) convertTo(x Expr, t *types.Type) Expr {
	from := x.Type()
	if !known(from) || !known(t) || from == t {
		return x
	}
	if k, ok := x.(*Const); ok && k.literal && from.Kind == types.Int && t.Kind == types.Int {
		if !fits(k.N, from, t) {
			c.hintf(k.Pos, fmt.Sprintf("cast it: (%s)", describe(t)), "%s does not fit %s", number(k), describe(t))
		}
		return &Const{Typed: Typed{k.Pos, t}, N: Wrap(k.N, t), literal: true}
	}
	if equal(from, t) || from.Kind == t.Kind && castable(from) {
		return x
	}
	if !compatible(from, t) {
		c.errorf(x.Position(), "%s is no %s", describe(from), describe(t))
		return bad(x.Position())
	}
	if tuple, ok := x.(*MakeTuple); ok && !reordered(from, t) {
		out := &MakeTuple{Typed: Typed{tuple.Pos, t}}
		for i, e := range tuple.Elems {
			out.Elems = append(out.Elems, c.convertTo(e, t.Fields[i].Type))
		}
		return out
	}
	return &Convert{Typed{x.Position(), t}, x}
}

func number(k *Const) string {
	if k.T.Signed {
		return fmt.Sprint(int64(k.N))
	}
	return fmt.Sprint(k.N)
}

// fits reports whether the integer n of type from has the same value in type to.
func fits(n uint64, from, to *types.Type) bool {
	if from.Signed && int64(n) < 0 {
		return to.Signed && Wrap(n, to) == n
	}
	w := Wrap(n, to)
	return w == n && !(to.Signed && int64(w) < 0)
}

// Wrap truncates n to the integer type t and extends the result to 64 bits.
func Wrap(n uint64, t *types.Type) uint64 {
	switch {
	case t.Size == 1 && t.Signed:
		return uint64(int8(n))
	case t.Size == 1:
		return uint64(uint8(n))
	case t.Size == 2 && t.Signed:
		return uint64(int16(n))
	case t.Size == 2:
		return uint64(uint16(n))
	case t.Size == 4 && t.Signed:
		return uint64(int32(n))
	case t.Size == 4:
		return uint64(uint32(n))
	}
	return n
}

// describe returns the name of a type in the language.
func describe(t *types.Type) string {
	if t == nil || t == pending || t == wrong {
		return "nothing"
	}
	switch t.Kind {
	case types.None:
		return "no value"
	case types.Int:
		if t.Name != "" {
			return t.Name
		}
		if t.Signed {
			return fmt.Sprintf("int%d", t.Size*8)
		}
		return fmt.Sprintf("uint%d", t.Size*8)
	case types.Pointer:
		if t.Elem == nil {
			return "void *"
		}
		if t.Elem.Kind == types.None {
			return "void *"
		}
		return describe(t.Elem) + " *"
	case types.Array:
		return fmt.Sprintf("%s[%d]", describe(t.Elem), t.Len)
	case types.Struct:
		return t.Name
	case types.Tuple, types.Record:
		var list []string
		for _, f := range t.Fields {
			s := describe(f.Type)
			if f.Name != "" {
				s = f.Name + "=" + s
			}
			list = append(list, s)
		}
		return "(" + strings.Join(list, ",") + ")"
	}
	if n, ok := kindNames[t.Kind]; ok {
		return n
	}
	return fmt.Sprintf("type %d", t.Kind)
}

var kindNames = map[types.Kind]string{
	types.Bool: "bool", types.String: "string", types.Buffer: "buffer", types.KStack: "kstack",
	types.UStack: "ustack", types.KSym: "ksym", types.USym: "usym", types.Username: "username",
	types.Inet: "inet", types.MAC: "macaddr", types.CgroupPath: "cgroup_path",
	types.Timestamp: "timestamp", types.ProbeName: "probe", types.Count: "count()",
	types.Sum: "sum()", types.Min: "min()", types.Max: "max()", types.Avg: "avg()",
	types.Stats: "stats()", types.Hist: "hist()", types.LHist: "lhist()", types.TSeries: "tseries()",
}

// baseTypes are the types that the language itself names.
var baseTypes = map[string]*types.Type{
	"void": types.Void, "bool": types.Truth,
	"int8": types.Int8, "int16": types.Int16, "int32": types.Int32, "int64": types.Int64,
	"uint8": types.Uint8, "uint16": types.Uint16, "uint32": types.Uint32, "uint64": types.Uint64,
	"int8_t": types.Int8, "int16_t": types.Int16, "int32_t": types.Int32, "int64_t": types.Int64,
	"uint8_t": types.Uint8, "uint16_t": types.Uint16, "uint32_t": types.Uint32, "uint64_t": types.Uint64,
	"string": {Kind: types.String}, "buffer": {Kind: types.Buffer}, "inet": {Kind: types.Inet},
	"usym_t": {Kind: types.USym}, "ksym_t": {Kind: types.KSym}, "username_t": {Kind: types.Username},
	"macaddr_t": {Kind: types.MAC}, "timestamp": {Kind: types.Timestamp},
	"ustack_t": {Kind: types.UStack, Mode: "bpftrace"}, "kstack_t": {Kind: types.KStack, Mode: "bpftrace"},
	"cgroup_path_t": {Kind: types.CgroupPath},
}

// typeExpr returns the type that t names.
func (c *checker) typeExpr(t *syntax.TypeExpr) *types.Type {
	var base *types.Type
	modifiers := t.Modifiers
	switch {
	case t.Typeof != nil:
		base = c.typeOf(t.Typeof)
	case t.Tuple != nil:
		base = &types.Type{Kind: types.Tuple}
		for _, e := range t.Tuple {
			base.Fields = append(base.Fields, types.Field{Type: c.typeExpr(e)})
		}
	case baseTypes[t.Base] != nil:
		base = baseTypes[t.Base]
		if (base.Kind == types.String || base.Kind == types.Buffer || base.Kind == types.Inet) && len(modifiers) > 0 && !modifiers[0].Pointer {
			sized := *base
			sized.Size = max(modifiers[0].Len, 0)
			base, modifiers = &sized, modifiers[1:]
		}
	default:
		base, err := c.env().Resolve(t)
		if err != nil {
			c.hosts(t.Pos, "type "+t.Base, err)
			return wrong
		}
		return base
	}
	if !known(base) {
		return base
	}
	for _, m := range modifiers {
		if m.Pointer {
			base = &types.Type{Kind: types.Pointer, Size: 8, Elem: base, User: c.userSpace()}
			continue
		}
		base = &types.Type{Kind: types.Array, Elem: base, Len: max(m.Len, 0), Size: max(m.Len, 0) * base.Size}
	}
	return base
}

// typeOf returns the type of an expression without evaluating it. An identifier may be a type.
func (c *checker) typeOf(e syntax.Expr) *types.Type {
	switch e := e.(type) {
	case *syntax.TypeArg:
		return c.typeExpr(e.Type)
	case *syntax.Ident:
		if t := baseTypes[e.Name]; t != nil {
			return t
		}
	case *syntax.Map:
		if m := c.maps[e.Name]; m != nil && len(e.Keys) == 0 && m.keyed {
			return settle(m.key)
		}
	}
	return settle(c.expr(e).Type())
}

// userSpace reports whether pointers point to user memory by default at this probe.
func (c *checker) userSpace() bool {
	if c.probe == nil || len(c.probe.Points) == 0 {
		return false
	}
	p := c.probe.Points[0]
	switch p.Provider {
	case "uprobe", "uretprobe", "usdt":
		return true
	case "tracepoint":
		return len(p.Args) > 0 && p.Args[0] == "syscalls"
	}
	return false
}
