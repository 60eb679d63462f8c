package check

import (
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// stringy reports whether string functions take values of type t.
func stringy(t *types.Type) bool {
	return t.Kind == types.String || t.Kind == types.Buffer || t.Kind == types.Array && t.Elem.Size == 1 || t.Kind == types.ProbeName
}

// symbolText converts a symbol to a string, which only ringtap does. It returns anything else
// unchanged.
func (c *checker) symbolText(x Expr) Expr {
	t := Typed{x.Position(), &types.Type{Kind: types.String, Size: c.prog.Config.MaxStrlen}}
	switch x.Type().Kind {
	case types.KSym:
		return &Call{Typed: t, Func: "ksym", Args: []Expr{x}}
	case types.USym:
		return &Call{Typed: t, Func: "usym", Args: []Expr{x}}
	}
	return x
}

// asText converts x to a string: the string that a pointer points to, the bytes of an array, or the
// name of a symbol.
func (c *checker) asText(x Expr) Expr {
	x = c.symbolText(x)
	switch t := x.Type(); t.Kind {
	case types.Array, types.Buffer:
		return &Convert{Typed{x.Position(), &types.Type{Kind: types.String, Size: sizeOf(t)}}, x}
	case types.Pointer:
		return c.readAt(x.Position(), x, nil, Text, &types.Type{Kind: types.String, Size: c.prog.Config.MaxStrlen})
	}
	return x
}

// texts returns the check of a function with string arguments. Arguments from index numbers on are
// integers. A nil result is a string.
func texts(result *types.Type, numbers int) func(*checker, *syntax.Call) Expr {
	return func(c *checker, e *syntax.Call) Expr {
		args, stop := c.values(e.Pos, e.Args)
		if stop != nil {
			return stop
		}
		t := result
		if t == types.Truth {
			t = c.truthType()
		}
		for i, x := range args {
			if i >= numbers {
				if args[i] = c.numberOf(x); args[i].Type().Kind != types.Int {
					c.errorf(x.Position(), "argument %d of %s() is an integer, not %s", i+1, e.Func, describe(x.Type()))
					return bad(e.Pos)
				}
				args[i] = c.widenInt(args[i], types.Int64)
				continue
			}
			args[i] = c.asText(x)
			if !stringy(args[i].Type()) {
				c.errorf(x.Position(), "argument %d of %s() is a string, not %s", i+1, e.Func, describe(x.Type()))
				return bad(e.Pos)
			}
		}
		if t == nil {
			t = &types.Type{Kind: types.String, Size: c.prog.Config.MaxStrlen}
		}
		return &Call{Typed: Typed{e.Pos, t}, Func: e.Func, Args: args}
	}
}

// checkStr checks str(address, length). A string remains a string.
func checkStr(c *checker, e *syntax.Call) Expr {
	if p, ok := e.Args[0].(*syntax.Positional); ok {
		text := ""
		if p.N >= 1 && p.N <= len(c.opts.Params) {
			text = c.opts.Params[p.N-1]
		}
		return c.text(e.Pos, text)
	}
	args, stop := c.values(e.Pos, e.Args)
	if stop != nil {
		return stop
	}
	size := c.prog.Config.MaxStrlen
	var length Expr
	if len(args) > 1 {
		length = c.numberOf(args[1])
		if length.Type().Kind != types.Int {
			c.errorf(length.Position(), "the length of str() is an integer, not %s", describe(length.Type()))
			return bad(e.Pos)
		}
		if k, ok := constant(length); ok {
			if k.T.Signed && int64(k.N) < 0 {
				c.errorf(length.Position(), "the length of str() cannot be negative")
				return bad(e.Pos)
			}
			size = int(min(k.N+1, uint64(size)))
		} else {
			length = c.widenInt(length, types.Uint64)
		}
	}
	t := &types.Type{Kind: types.String, Size: size}
	x := c.symbolText(args[0])
	switch from := x.Type(); {
	case from.Kind == types.Int && from.Name != "" && length == nil: // only in ringtap
		return &Call{Typed: Typed{e.Pos, t}, Func: "enum", Format: from.Name, Args: []Expr{x}}
	case from.Kind == types.Int || from.Kind == types.Pointer:
		if _, fixed := length.(*Const); length != nil && !fixed {
			// The hit carries the whole string, and the length is applied afterwards.
			if whole, ok := c.readAt(e.Pos, x, nil, Text, t).(*FromHit); ok {
				return &Call{Typed: Typed{e.Pos, t}, Func: "str", Args: []Expr{whole, length}}
			}
		}
		return c.readAt(e.Pos, x, length, Text, t)
	case stringy(from):
		text := c.asText(x)
		n, cut := constant(length)
		switch k, ok := constant(text); {
		case ok && cut && k.literal: // a literal is cut to exactly length bytes, in every release
			return &Const{Typed: Typed{e.Pos, t}, S: k.S[:min(uint64(len(k.S)), n.N)], literal: true}
		case length == nil && text.Type().Size <= size:
			return text
		case length == nil && ok:
			return &Const{Typed: Typed{e.Pos, t}, S: k.S[:size-1], literal: k.literal}
		case length == nil:
			return &Convert{Typed{e.Pos, t}, text}
		}
		return &Call{Typed: Typed{e.Pos, t}, Func: "str", Args: []Expr{text, length}}
	}
	c.errorf(e.Pos, "str() takes an address, not %s", describe(x.Type()))
	return bad(e.Pos)
}

// checkBuf checks buf(address, length).
func checkBuf(c *checker, e *syntax.Call) Expr {
	args, stop := c.values(e.Pos, e.Args)
	if stop != nil {
		return stop
	}
	x := args[0]
	from := x.Type()
	size := c.prog.Config.MaxStrlen
	var length Expr
	if len(args) > 1 {
		length = c.widenInt(c.numberOf(args[1]), types.Uint64)
		if k, ok := constant(length); ok {
			size = int(min(k.N, uint64(size)))
		}
	} else if from.Kind == types.Array || from.Kind == types.String {
		size = min(sizeOf(from), size)
	}
	t := &types.Type{Kind: types.Buffer, Size: size}
	switch {
	case from.Kind == types.Array || from.Kind == types.String || from.Kind == types.Struct || from.Kind == types.Buffer:
		if length == nil {
			return &Convert{Typed{e.Pos, t}, x}
		}
		return &Call{Typed: Typed{e.Pos, t}, Func: "buf", Args: []Expr{&Convert{Typed{e.Pos, &types.Type{Kind: types.Buffer, Size: sizeOf(from)}}, x}, length}}
	case from.Kind == types.Int || from.Kind == types.Pointer:
		return c.readAt(e.Pos, x, length, Bytes, t)
	}
	c.errorf(e.Pos, "buf() takes an address or an array, not %s", describe(from))
	return bad(e.Pos)
}

// checkJoin checks join(argv, separator), and str_join(argv, separator), which returns what join
// prints.
func checkJoin(c *checker, e *syntax.Call) Expr {
	sep := " "
	if len(e.Args) > 1 {
		var ok bool
		if sep, ok = c.constantText(e, 1); !ok {
			return bad(e.Pos)
		}
	}
	args, stop := c.values(e.Pos, e.Args[:1])
	if stop != nil {
		return stop
	}
	if k := args[0].Type().Kind; k != types.Int && k != types.Pointer {
		c.errorf(e.Pos, "%s() takes an array of strings, not %s", e.Func, describe(args[0].Type()))
		return bad(e.Pos)
	}
	// The strings come as one text, each followed by a zero byte.
	words := c.readAt(e.Pos, args[0], nil, Vector, &types.Type{Kind: types.Buffer, Size: c.prog.Config.MaxStrlen})
	t := types.Void
	if e.Func == "str_join" {
		t = &types.Type{Kind: types.String, Size: c.prog.Config.MaxStrlen}
	}
	return &Call{Typed: Typed{e.Pos, t}, Func: e.Func, Format: sep, Args: []Expr{words}}
}

// checkAddress checks ntop and macaddr: a network address in an integer or in bytes.
func checkAddress(c *checker, e *syntax.Call) Expr {
	args, stop := c.values(e.Pos, e.Args)
	if stop != nil {
		return stop
	}
	t := &types.Type{Kind: types.Inet, Size: 16}
	if e.Func == "macaddr" {
		t = &types.Type{Kind: types.MAC, Size: 6}
	}
	x := args[len(args)-1]
	switch u := x.Type(); {
	case u.Kind == types.Int, u.Kind == types.Array && sizeOf(u) >= 4, u.Kind == types.String && u.Size >= 4:
	case u.Kind == types.Pointer:
		n := 4
		if e.Func == "macaddr" {
			n = 6
		}
		args[len(args)-1] = c.readAt(e.Pos, x, nil, Bytes, &types.Type{Kind: types.Buffer, Size: n})
	default:
		c.errorf(e.Pos, "%s() takes an integer or bytes, not %s", e.Func, describe(u))
		return bad(e.Pos)
	}
	if len(args) == 2 {
		args[0] = c.widenInt(c.numberOf(args[0]), types.Int64)
	}
	return &Call{Typed: Typed{e.Pos, t}, Func: e.Func, Args: args}
}
