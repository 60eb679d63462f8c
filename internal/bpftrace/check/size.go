package check

import (
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

func (c *checker) sizeof(e *syntax.Sizeof) Expr {
	var t *types.Type
	x := e.X
	if u := e.Type; u != nil && u.Typeof == nil && u.Tuple == nil && len(u.Modifiers) == 0 {
		if _, _, ok := c.env().Constant(u.Base); ok {
			x = &syntax.Ident{Pos: u.Pos, Name: u.Base} // an enum constant
		}
	}
	if x == nil {
		t = c.typeExpr(e.Type)
	} else {
		t = c.typeOf(x)
	}
	if !known(t) {
		return unknownUntilFinal(c, e.Pos)
	}
	size := sizeOf(t)
	if word, ok := x.(*syntax.Ident); ok && t.Kind == types.Int {
		if _, _, ok := c.env().Constant(word.Name); ok {
			size = 8 // bpftrace gives every enum constant 64 bits, whatever the size of the enum
		}
	}
	return &Const{Typed: Typed{e.Pos, types.Uint64}, N: uint64(size)}
}

// sizeOf returns the size of a value of type t in bytes, as bpftrace lays it out.
func sizeOf(t *types.Type) int {
	switch t.Kind {
	case types.Tuple, types.Record:
		size, align := 0, 1
		for _, f := range t.Fields {
			n := sizeOf(f.Type)
			a := alignOf(f.Type)
			size = (size+a-1)/a*a + n
			align = max(align, a)
		}
		return (size + align - 1) / align * align
	case types.Pointer:
		return 8
	case types.Bool:
		return 1
	}
	return t.Size
}

func alignOf(t *types.Type) int {
	switch t.Kind {
	case types.String, types.Buffer:
		return 1
	case types.Tuple, types.Record, types.Struct:
		if len(t.Fields) == 0 {
			break
		}
		a := 1
		for _, f := range t.Fields {
			a = max(a, alignOf(f.Type))
		}
		return a
	case types.Array:
		return alignOf(t.Elem)
	}
	switch n := sizeOf(t); {
	case n <= 1:
		return 1
	case n <= 2:
		return 2
	case n <= 4:
		return 4
	}
	return 8
}

func (c *checker) offsetof(e *syntax.Offsetof) Expr {
	var t *types.Type
	if e.Type != nil {
		t = c.typeExpr(e.Type)
	} else {
		t = c.typeOf(e.X)
	}
	offset := 0
	for _, name := range e.Path {
		if !known(t) {
			return unknownUntilFinal(c, e.Pos)
		}
		f, ok := c.findField(t, name)
		if !ok {
			c.hintf(e.Pos, nearest(name, c.fieldNames(t)), "%s has no member %s", describe(t), name)
			return bad(e.Pos)
		}
		offset += f.Offset
		t = f.Type
	}
	return &Const{Typed: Typed{e.Pos, types.Uint64}, N: uint64(offset)}
}
