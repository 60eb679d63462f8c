package check

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

func (c *checker) field(e *syntax.Field) Expr {
	if id, ok := e.X.(*syntax.Ident); ok && (id.Name == "args" || id.Name == "ctx" && c.iterates()) {
		return c.argsField(e)
	}
	if u, ok := e.X.(*syntax.Unary); ok && u.Op == "*" {
		if id, ok := u.X.(*syntax.Ident); ok && id.Name == "args" {
			return c.argsField(e)
		}
	}
	if inner, ok := e.X.(*syntax.Field); ok {
		if whole := c.partName(inner.Name, e.Name); whole != "" && isArgs(inner.X) {
			return c.argsField(&syntax.Field{Pos: e.Pos, X: inner.X, Name: whole})
		}
	}
	x := c.expr(e.X)
	t := x.Type()
	switch {
	case t == wrong:
		return x
	case t == pending:
		return unknownUntilFinal(c, e.Pos)
	case t.Kind == types.Record:
		for i, f := range t.Fields {
			if f.Name == e.Name {
				if facts, ok := allConstant(x); ok {
					return facts.Elems[i]
				}
				return &Member{Typed{e.Pos, f.Type}, x, i}
			}
		}
		c.hintf(e.Pos, nearest(e.Name, c.fieldNames(t)), "this record has no %s", e.Name)
		return bad(e.Pos)
	}
	addr := x
	s := t
	if t.Kind == types.Pointer && t.Elem != nil {
		s = t.Elem
	} else if l, ok := x.(*Load); ok {
		addr = l.Addr
	} else {
		addr = nil
	}
	if s.Kind == types.Tuple {
		c.hintf(e.Pos, "its elements are .0, .1 and so on", "the elements of %s have no names", describe(t))
		return bad(e.Pos)
	}
	if s.Kind != types.Struct {
		c.hintf(e.Pos, "cast it: ((struct NAME *)…)."+e.Name, "%s has no members", describe(t))
		return bad(e.Pos)
	}
	f, ok := c.findField(s, e.Name)
	if !ok && s.Size == 0 && len(c.fieldNames(s)) == 0 {
		hint := "define it, or #include the header that does"
		if c.opts.Untyped != nil && c.opts.Untyped() {
			hint = "this kernel has no type information (BTF): " + hint
		}
		c.hintf(e.Pos, hint, "%s is not known here", describe(s))
		return bad(e.Pos)
	}
	if !ok {
		names := c.fieldNames(s)
		hint := nearest(e.Name, names)
		if today := movedMembers[describe(s)+" "+e.Name]; today != "" && slices.Contains(names, today[:strings.IndexAny(today+"-", "-.")]) {
			hint = "today it is " + today
		}
		c.hintf(e.Pos, hint, "%s has no member %s", describe(s), e.Name)
		return bad(e.Pos)
	}
	return c.part(e.Pos, x, addr, f)
}

// movedMembers maps members of kernel structs that programs use to where newer kernels have them.
var movedMembers = map[string]string{
	"struct request rq_disk":   "q->disk",          // Linux 5.17
	"struct bio bi_disk":       "bi_bdev->bd_disk", // 5.12
	"struct cfs_rq nr_running": "nr_queued",        // 6.15
	"struct cfs_rq nr_queued":  "nr_running",
}

// part returns a member of a struct. It is read at addr, or taken from the value x if addr is nil.
func (c *checker) part(pos syntax.Pos, x, addr Expr, f types.Field) Expr {
	if f.Bits > 0 {
		var whole Expr = &Part{Typed: Typed{pos, f.Type}, X: x, Offset: f.Offset}
		if addr != nil {
			whole = c.load(pos, at(pos, addr, f.Offset, f.Type), f.Type)
		}
		return &Part{Typed: Typed{pos, f.Type}, X: whole, BitOffset: f.BitOffset, Bits: f.Bits}
	}
	if addr != nil {
		return c.load(pos, at(pos, addr, f.Offset, f.Type), f.Type)
	}
	t := f.Type
	if t.Kind == types.Array && t.Elem.Kind == types.Int && t.Elem.Size == 1 && t.Elem.Signed && t.Len > 0 {
		t = &types.Type{Kind: types.String, Size: t.Len, Array: true}
	}
	return &Part{Typed: Typed{pos, t}, X: x, Offset: f.Offset}
}

// argsField checks args.NAME.
func (c *checker) argsField(e *syntax.Field) Expr {
	t := c.args(e.Pos)
	if t == nil {
		return bad(e.Pos)
	}
	f, ok := c.findField(t, e.Name)
	if length := c.partName(e.Name, "len"); !ok && length != "" && c.partName(e.Name, "cap") == "" {
		// A string of Go or Rust is its text: args.NAME is str(args.NAME.ptr, args.NAME.len).
		part := func(name string) syntax.Expr { return &syntax.Field{Pos: e.Pos, X: e.X, Name: name} }
		return c.expr(&syntax.Call{Pos: e.Pos, Func: "str", Args: []syntax.Expr{part(c.partName(e.Name, "ptr")), part(length)}})
	}
	if !ok {
		hint := nearest(e.Name, c.fieldNames(t))
		if hint == "" {
			hint = "it has " + strings.Join(c.fieldNames(t), ", ")
		}
		c.hintf(e.Pos, hint, "%s has no argument %s", c.probe.Points[0].Text, e.Name)
		return bad(e.Pos)
	}
	for _, p := range c.probe.Points[1:] {
		if other, err := c.env().Args(p); err == nil {
			if _, ok := c.findField(other, e.Name); !ok {
				c.errorf(e.Pos, "%s has no argument %s, but %s has", p.Text, e.Name, c.probe.Points[0].Text)
			}
		}
	}
	ft := f.Type
	if ft.Kind == types.Array && ft.Elem.Kind == types.Int && ft.Elem.Size == 1 && ft.Elem.Signed && ft.Len > 0 {
		ft = &types.Type{Kind: types.String, Size: ft.Len, Array: true}
	}
	return c.source(e.Pos, &Source{Root: FieldRoot, Name: e.Name, Type: ft})
}

// isArgs reports whether an expression is args, or *args.
func isArgs(x syntax.Expr) bool {
	if u, ok := x.(*syntax.Unary); ok && u.Op == "*" {
		x = u.X
	}
	id, ok := x.(*syntax.Ident)
	return ok && id.Name == "args"
}

// partName returns the name of an argument that is a part of another one in several registers, such
// as args.name.len of a Go string. It returns "" if there is none. Go itself calls the pointer str
// or array.
func (c *checker) partName(argument, part string) string {
	if part == "str" || part == "array" {
		part = "ptr"
	}
	if whole := argument + "." + part; c.hasArgument(whole) {
		return whole
	}
	return ""
}

// argumentNames returns the arguments of the probe's first attach point, or nil if they are not
// known.
func (c *checker) argumentNames() []string {
	if c.probe == nil || len(c.probe.Points) == 0 {
		return nil
	}
	t, err := c.env().Args(c.probe.Points[0])
	if err != nil || t == nil {
		return nil
	}
	return c.fieldNames(t)
}

// hasArgument reports whether the probe has an argument called name.
func (c *checker) hasArgument(name string) bool { return contains(c.argumentNames(), name) }

// args returns the type of args, or nil if there is none here.
func (c *checker) args(pos syntax.Pos) *types.Type {
	if c.probe == nil {
		c.errorf(pos, "a function has no args: pass what it needs as an argument")
		return nil
	}
	if len(c.probe.Points) == 0 {
		return nil
	}
	p := c.probe.Points[0]
	t, err := c.env().Args(p)
	if e := (*syntax.Error)(nil); errors.As(err, &e) {
		c.hintf(pos, e.Hint, "%s", e.Msg)
		return nil
	}
	if err != nil || t == nil {
		c.noArgs(p, err)
		return nil
	}
	return t
}

// noArgs reports that the arguments of an attach point are not known, once per point. If a file
// with them is not readable, it reports that once for all points.
func (c *checker) noArgs(p *syntax.AttachPoint, err error) {
	if errors.Is(err, fs.ErrPermission) && slices.ContainsFunc(c.errs, func(e *syntax.Error) bool { return strings.HasSuffix(e.Msg, err.Error()) }) {
		return
	}
	hint := "use arg0, arg1, … with casts where the probe is at a function"
	if p.Provider == "tracepoint" {
		hint = ""
	}
	c.add(&syntax.Error{Pos: p.Pos, Msg: fmt.Sprintf("the arguments of %s are not known: %v", p.Text, err), Hint: hint, Err: err})
}

// maxCarried is the size in bytes up to which a hit carries a whole array to get one element.
const maxCarried = 512

func (c *checker) index(e *syntax.Index) Expr {
	x, i := c.expr(e.X), c.value(e.Index)
	t, ti := x.Type(), i.Type()
	switch {
	case t == wrong || ti == wrong:
		return bad(e.Pos)
	case t == pending || ti == pending:
		return unknownUntilFinal(c, e.Pos)
	case ti.Kind == types.Int && (t.Kind == types.Tuple || t.Kind == types.Record):
		k, ok := constant(i)
		if !ok {
			c.errorf(e.Index.Position(), "the elements of %s have types of their own: the index must be a constant", describe(t))
			return bad(e.Pos)
		}
		return c.member(&syntax.Member{Pos: e.Pos, X: e.X, N: int(min(k.N, 1<<30))})
	case ti.Kind != types.Int:
		c.errorf(e.Index.Position(), "an index is an integer, not %s", describe(ti))
		return bad(e.Pos)
	}
	var elem *types.Type
	switch t.Kind {
	case types.Pointer, types.Array:
		elem = t.Elem
	case types.String, types.Buffer:
		elem = types.Int8
	}
	if elem == nil || elem.Kind == types.None {
		c.errorf(e.Pos, "%s has no elements", describe(t))
		return bad(e.Pos)
	}
	k, fixed := constant(i)
	if s, ok := constant(x); ok && fixed && t.Kind == types.String && k.N < uint64(len(s.S)) {
		return &Const{Typed: Typed{e.Pos, elem}, N: uint64(int8(s.S[k.N])), literal: true}
	}
	if fixed && t.Kind == types.Array && t.Len > 0 && (int64(k.N) < 0 || k.N >= uint64(t.Len)) {
		c.errorf(e.Pos, "the index %s is out of bounds for array of size %d", number(k), t.Len)
		return bad(e.Pos)
	}
	size := max(sizeOf(elem), 1)
	addr := x
	if l, ok := x.(*Load); ok && t.Kind == types.Array {
		addr = l.Addr
		if all, ok := c.whole(l).(*FromHit); ok && !fixed && sizeOf(t) <= maxCarried {
			return &Part{Typed: Typed{e.Pos, elem}, X: all, Index: c.widenInt(i, types.Int64)}
		}
	} else if t.Kind != types.Pointer {
		if fixed {
			return &Part{Typed: Typed{e.Pos, elem}, X: x, Offset: int(k.N) * size}
		}
		return &Part{Typed: Typed{e.Pos, elem}, X: x, Index: c.widenInt(i, types.Int64)}
	}
	if fixed {
		return c.load(e.Pos, at(e.Pos, addr, int(k.N)*size, elem), elem)
	}
	p := at(e.Pos, addr, 0, elem)
	n := &Const{Typed: Typed{e.Pos, types.Int64}, N: uint64(size)}
	by := &Binary{Typed{e.Pos, types.Int64}, "*", c.widenInt(i, types.Int64), n}
	return c.load(e.Pos, &Binary{Typed{e.Pos, p.Type()}, "+", p, by}, elem)
}

// findField returns a member of a struct, or of an anonymous struct within it. Its offset is from
// the start of t.
func (c *checker) findField(t *types.Type, name string) (types.Field, bool) {
	if t.Kind != types.Struct {
		return types.Field{}, false
	}
	return c.env().Complete(t).Member(name)
}

func (c *checker) fieldNames(t *types.Type) []string {
	var list []string
	if t.Kind == types.Struct {
		t = c.env().Complete(t)
	}
	for _, f := range t.Fields {
		if f.Name != "" {
			list = append(list, f.Name)
		} else if f.Type != nil && f.Type.Kind == types.Struct && f.Type != t {
			list = append(list, c.fieldNames(f.Type)...)
		}
	}
	return list
}
