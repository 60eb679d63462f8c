package check

import (
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// mapArgument returns the map that argument i names, or nil after an error.
func (c *checker) mapArgument(e *syntax.Call, i int) *Map {
	m, ok := e.Args[i].(*syntax.Map)
	if !ok || len(m.Keys) > 0 {
		c.errorf(e.Args[i].Position(), "argument %d of %s() is a map", i+1, e.Func)
		return nil
	}
	return c.mapNamed(m)
}

func checkWholeMap(c *checker, e *syntax.Call) Expr {
	m := c.mapArgument(e, 0)
	if m == nil {
		return bad(e.Pos)
	}
	return &Call{Typed: Typed{e.Pos, types.Void}, Func: e.Func, Map: m}
}

// checkKey checks has_key(@m, key) and both forms of delete.
func checkKey(c *checker, e *syntax.Call) Expr {
	t := c.truthType()
	m, ok := e.Args[0].(*syntax.Map)
	if !ok {
		c.errorf(e.Args[0].Position(), "the first argument of %s() is a map", e.Func)
		return bad(e.Pos)
	}
	var el *Element
	switch {
	case len(m.Keys) > 0 && len(e.Args) > 1:
		c.hintf(e.Pos, "one call for each", "%s() takes a map and a key, or one element", e.Func)
		return bad(e.Pos)
	case len(m.Keys) > 0 || len(e.Args) == 1:
		if e.Func == "has_key" {
			c.errorf(e.Pos, "has_key() takes a map and a key")
			return bad(e.Pos)
		}
		el = c.element(m)
	case c.mapNamed(m).scalar:
		c.errorf(m.Pos, "call to %s() expects a map with explicit keys: %s has none", e.Func, m.Name)
		return bad(e.Pos)
	default:
		el = c.element(&syntax.Map{Pos: m.Pos, Name: m.Name, Keys: e.Args[1:2]})
	}
	if el == nil {
		return bad(e.Pos)
	}
	return &Call{Typed: Typed{e.Pos, t}, Func: e.Func, Map: el.Map, Args: []Expr{el}}
}

// checkFind checks find(@m, key, $var).
func checkFind(c *checker, e *syntax.Call) Expr {
	m, okM := e.Args[0].(*syntax.Map)
	v, okV := e.Args[2].(*syntax.Var)
	if !okM || !okV || len(m.Keys) > 0 {
		c.errorf(e.Pos, "find() takes a map, a key and a variable")
		return bad(e.Pos)
	}
	el := c.element(&syntax.Map{Pos: m.Pos, Name: m.Name, Keys: e.Args[1:2]})
	if el == nil {
		return bad(e.Pos)
	}
	to := c.assigned(e, v.Name)
	if el.Map.value == pending {
		return unknownUntilFinal(c, e.Pos)
	}
	if to.sets++; !c.widen(to, el.T) {
		c.errorf(v.Pos, "%s holds %s, not %s", v.Name, describe(to.Type), describe(el.T))
		return bad(e.Pos)
	}
	return &Call{Typed: Typed{e.Pos, c.truthType()}, Func: "find", Map: el.Map, Args: []Expr{el, &Local{Typed{v.Pos, to.Type}, to.Var}}}
}

// checkLen checks len of a map or a stack.
func checkLen(c *checker, e *syntax.Call) Expr {
	if m, ok := e.Args[0].(*syntax.Map); ok && len(m.Keys) == 0 {
		named := c.mapNamed(m)
		if named.scalar {
			c.errorf(e.Pos, "call to len() expects a map with explicit keys (non-scalar map): %s has none", m.Name)
		}
		return &Call{Typed: Typed{e.Pos, types.Int64}, Func: "len", Map: named}
	}
	args, stop := c.values(e.Pos, e.Args)
	if stop != nil {
		return stop
	}
	if k := args[0].Type().Kind; k != types.KStack && k != types.UStack {
		c.errorf(e.Pos, "len() takes a map or a stack, not %s", describe(args[0].Type()))
		return bad(e.Pos)
	}
	return &Call{Typed: Typed{e.Pos, types.Int64}, Func: "len", Args: args}
}
