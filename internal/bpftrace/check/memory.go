package check

import (
	"slices"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// path is where a pointer comes from: a root of the hit and the steps from there.
type path struct {
	root  Source // without Path and Form
	steps []Step
}

// maxSteps bounds the length of a path. Longer ones are read at run time.
const maxSteps = 32

// origin returns where the value of x comes from, or nil if that is known only at run time.
func (c *checker) origin(x Expr) *path {
	switch x := x.(type) {
	case *FromHit:
		s := c.clause.Sources[x.Source]
		if s.Form != Plain || s.Type.Kind != types.Int && s.Type.Kind != types.Pointer {
			return nil
		}
		q := &path{Source{Root: s.Root, N: s.N, Name: s.Name, Address: s.Address}, s.Path}
		if len(s.Path) > 0 {
			q = q.deref()
		}
		return q
	case *Local:
		return x.Var.from
	case *Const:
		if x.T.Kind == types.Pointer || x.T.Kind == types.Int && x.T.Size == 8 && int64(x.N) < 0 { // kaddr() returns a number
			return &path{root: Source{Root: SymbolRoot, Address: x.N}}
		}
	case *Convert:
		to, from := x.T, x.X.Type()
		if (to.Kind == types.Pointer || to.Kind == types.Int && to.Size == 8) &&
			(from.Kind == types.Pointer || from.Kind == types.Int && from.Size == 8) {
			return c.origin(x.X)
		}
	case *Binary:
		k, ok := constant(x.Y)
		if !ok || x.Op != "+" && x.Op != "-" {
			return nil
		}
		p := c.origin(x.X)
		if p == nil {
			return nil
		}
		n := int(k.N)
		if x.Op == "-" {
			n = -n
		}
		return p.plus(n)
	}
	return nil
}

// plus returns the path n bytes later.
func (p *path) plus(n int) *path {
	steps := slices.Clone(p.steps)
	if last := len(steps) - 1; last >= 0 && !steps[last].Deref {
		steps[last].Offset += n
	} else {
		steps = append(steps, Step{Offset: n})
	}
	return &path{p.root, steps}
}

// deref returns the path to the value at the address.
func (p *path) deref() *path {
	q := p.plus(0)
	q.steps[len(q.steps)-1].Deref = true
	return q
}

// source returns the value of s, which it adds to the clause's sources if needed.
func (c *checker) source(pos syntax.Pos, s *Source) Expr {
	if c.clause == nil {
		c.errorf(pos, "a function has no hit: pass the value as an argument")
		return bad(pos)
	}
	for i, other := range c.clause.Sources {
		if other.same(s) {
			return &FromHit{Typed{pos, s.Type}, i}
		}
	}
	s.Pos = pos
	c.clause.Sources = append(c.clause.Sources, s)
	return &FromHit{Typed{pos, s.Type}, len(c.clause.Sources) - 1}
}

// load returns the value of type t at addr. A struct or an array becomes a Load, which is read only
// when all of it is needed (see whole).
func (c *checker) load(pos syntax.Pos, addr Expr, t *types.Type) Expr {
	user := addr.Type().User
	if t.Kind == types.Array && t.Elem.Kind == types.Int && t.Elem.Size == 1 && t.Elem.Signed && t.Len > 0 {
		t = &types.Type{Kind: types.String, Size: t.Len, Array: true}
	}
	if t.Kind == types.Struct {
		t = c.env().Complete(t)
	}
	x := &Load{Typed{pos, t}, addr, user}
	if t.Kind == types.Struct || t.Kind == types.Array {
		return x
	}
	return c.whole(x)
}

// whole turns a Load into a source of the clause, if its address comes from the hit.
func (c *checker) whole(x Expr) Expr {
	l, ok := x.(*Load)
	if !ok || c.clause == nil {
		return x
	}
	p := c.origin(l.Addr)
	if p == nil || len(p.steps) >= maxSteps {
		return x
	}
	s := p.root
	s.Path, s.Type, s.User = p.plus(0).steps, l.T, l.User
	s.User = s.User || c.inUserSpace(&s)
	return c.source(l.Pos, &s)
}

// inUserSpace reports whether the root of s points to user memory, unless its type says otherwise.
func (c *checker) inUserSpace(s *Source) bool {
	return s.Root != TaskRoot && s.Root != SymbolRoot && c.userSpace()
}

// readAt returns str() and the like: the string or bytes at addr.
func (c *checker) readAt(pos syntax.Pos, addr, length Expr, form Form, t *types.Type) Expr {
	k, fixed := length.(*Const)
	if p := c.origin(addr); p != nil && c.clause != nil && len(p.steps) < maxSteps && (length == nil || fixed) {
		s := p.root
		s.Path, s.Form, s.Type, s.Size, s.User = p.steps, form, t, t.Size, addr.Type().User || c.inUserSpace(&s)
		switch {
		case form != Text || c.opts.Dialect == V017:
		case length == nil || k.N > uint64(t.Size):
			s.Size++ // max_strlen does not include the terminating zero byte, except in 0.17
		case c.opts.Dialect.CountsEnd():
			s.Size = int(max(k.N, 1))
		default:
			s.Size = int(k.N) + 1
		}
		return c.source(pos, &s)
	}
	if whole := c.readWhole(pos, addr, form, t); whole != nil {
		return &Call{Typed: Typed{pos, t}, Func: map[Form]string{Text: "str", Bytes: "buf"}[form], Args: []Expr{whole, length}}
	}
	return &Read{Typed{pos, t}, form, addr, length, addr.Type().User || c.userSpace()}
}

// readWhole returns all of the string or bytes that a system call's parameter points to. The memory
// must be read at the hit, but only the running program knows the length. It is applied afterwards.
// readWhole returns nil for anything else.
func (c *checker) readWhole(pos syntax.Pos, addr Expr, form Form, t *types.Type) Expr {
	of := c.origin(addr)
	if of == nil || of.root.Root != FieldRoot || !addr.Type().User || form == Vector {
		return nil
	}
	return c.readAt(pos, addr, nil, form, t)
}

// at returns the address n bytes after addr, as a pointer to t.
func at(pos syntax.Pos, addr Expr, n int, t *types.Type) Expr {
	p := &types.Type{Kind: types.Pointer, Size: 8, Elem: t, User: addr.Type().User}
	if n == 0 {
		return &Convert{Typed{pos, p}, addr}
	}
	return &Binary{Typed{pos, p}, "+", addr, &Const{Typed: Typed{pos, types.Int64}, N: uint64(n)}}
}

func (c *checker) deref(e *syntax.Unary, x Expr) Expr {
	switch t := x.Type(); {
	case t.Kind == types.Pointer && t.Elem != nil && t.Elem.Kind != types.None:
		return c.load(e.Pos, x, t.Elem)
	case t.Kind == types.Int:
		return c.load(e.Pos, x, types.Integer(8, false))
	case t.Kind == types.Struct:
		return x // *args, as older programs write it
	default:
		c.errorf(e.Pos, "%s points nowhere", describe(t))
	}
	return bad(e.Pos)
}

func (c *checker) addressOf(e *syntax.Unary) Expr {
	switch e.X.(type) {
	case *syntax.Var:
		c.hintf(e.Pos, "use the variable itself", "a variable has no address: it is not in BPF's memory")
		return bad(e.Pos)
	case *syntax.Map:
		c.hintf(e.Pos, "name the map itself", "a map has no address: it is not in BPF's memory")
		return bad(e.Pos)
	}
	x := c.expr(e.X)
	if !known(x.Type()) {
		return x
	}
	if l, ok := x.(*Load); ok {
		return at(e.Pos, l.Addr, 0, l.T)
	}
	if f, ok := x.(*FromHit); ok {
		s := c.clause.Sources[f.Source]
		if n := len(s.Path); n > 0 && s.Form == Plain && n == 1 {
			root := *s
			root.Path, root.Type = nil, types.Uint64
			return at(e.Pos, c.source(e.Pos, &root), s.Path[0].Offset, s.Type)
		}
	}
	c.errorf(e.Pos, "the address of this is not known: only members of structs and elements of arrays in memory have one")
	return bad(e.Pos)
}
