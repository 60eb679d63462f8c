package check

import (
	"io"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/show"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// checkFormat checks printf and the like: a format and its arguments.
func checkFormat(c *checker, e *syntax.Call) Expr {
	format, ok := c.constantText(e, 0)
	if !ok {
		return bad(e.Pos)
	}
	args, stop := c.values(e.Pos, e.Args[1:])
	if stop != nil {
		return stop
	}
	list := make([]*types.Type, len(args))
	for i, a := range args {
		if t := a.Type(); t.Kind.Aggregates() && !castable(t) {
			c.errorf(a.Position(), "%s cannot be formatted: print the map", describe(t))
			return bad(e.Pos)
		}
		args[i] = settled(a)
		list[i] = args[i].Type()
	}
	f, err := show.ParseFormat(e.Func, format, list)
	if err != nil {
		c.errorf(e.Pos, "%v", err)
		return bad(e.Pos)
	}
	for i, t := range list {
		if t.Kind == types.Pointer && t.Elem != nil && t.Elem.Kind == types.Int && t.Elem.Size == 1 && f.Verb(i) == "s" {
			c.warnf(args[i].Position(), "this prints the address: str() reads the text that is there")
		}
	}
	return &Call{Typed: Typed{e.Pos, types.Void}, Func: e.Func, Format: format, Args: args}
}

// settled returns x with its final type instead of a literal's flexible one.
func settled(x Expr) Expr {
	t := settle(x.Type())
	if k, ok := x.(*Const); ok && t != k.T {
		return &Const{Typed: Typed{k.Pos, t}, N: k.N, S: k.S, literal: k.literal}
	}
	if m, ok := x.(*MakeTuple); ok && t != m.T {
		out := &MakeTuple{Typed: Typed{m.Pos, t}}
		for _, e := range m.Elems {
			out.Elems = append(out.Elems, settled(e))
		}
		return out
	}
	return x
}

// checkFail checks fail(format, …), which rejects the program with its own message. The arguments
// must be constants, because nothing runs.
func checkFail(c *checker, e *syntax.Call) Expr {
	format, ok := c.constantText(e, 0)
	if !ok {
		return bad(e.Pos)
	}
	args, stop := c.values(e.Pos, e.Args[1:])
	if stop != nil {
		return stop
	}
	list := make([]*types.Type, len(args))
	values := make([]value.Value, len(args))
	for i, a := range args {
		k, ok := constant(settled(a))
		if !ok {
			c.errorf(a.Position(), "argument %d of fail() is not a constant: the program does not run", i+1)
			return bad(e.Pos)
		}
		plain := *k.T
		plain.Name = "" // print an enum as a number: only the run-time printer knows the names
		list[i], values[i] = &plain, value.Value{N: k.N, S: k.S}
	}
	f, err := show.ParseFormat(e.Func, format, list)
	if err != nil {
		c.errorf(e.Pos, "%v", err)
		return bad(e.Pos)
	}
	message := show.NewPrinter(io.Discard, io.Discard, show.Current(), nil).SprintfRaw(f, values)
	c.errorf(e.Pos, "%s", strings.TrimSuffix(message, "\n"))
	return bad(e.Pos)
}

// checkPrint checks print(x), print(@map) and print(@map, top, div).
func checkPrint(c *checker, e *syntax.Call) Expr {
	out := &Call{Typed: Typed{e.Pos, types.Void}, Func: "print"}
	m, ok := e.Args[0].(*syntax.Map)
	if !ok && len(e.Args) > 1 {
		c.hintf(e.Pos, "print((a, b)) prints several values, printf() formats them", "print() takes one value, or a map, top and div")
		return bad(e.Pos)
	}
	if ok && len(m.Keys) == 0 {
		out.Map = c.mapNamed(m)
		for i := range e.Args[1:] {
			x := c.value(e.Args[i+1])
			k, ok := constant(x)
			if !ok || k.T.Kind != types.Int || int64(k.N) < 0 {
				c.errorf(x.Position(), "top and div of print() are literal numbers")
				return bad(e.Pos)
			}
			out.Args = append(out.Args, k)
		}
		return out
	}
	if ok && len(e.Args) == 1 {
		el := c.element(m)
		if el == nil {
			return bad(e.Pos)
		}
		if el.T.Kind.Aggregates() {
			out.Map, out.Args = el.Map, []Expr{el}
			return out
		}
	}
	args, stop := c.values(e.Pos, e.Args)
	if stop != nil {
		return stop
	}
	out.Args = []Expr{settled(args[0])}
	return out
}

// checkTime checks time(format) and strftime(format, ns).
func checkTime(c *checker, e *syntax.Call) Expr {
	out := &Call{Typed: Typed{e.Pos, types.Void}, Func: e.Func, Format: "%H:%M:%S\n"}
	if len(e.Args) > 0 {
		format, ok := c.constantText(e, 0)
		if !ok {
			return bad(e.Pos)
		}
		out.Format = format
	}
	if e.Func == "time" {
		return out
	}
	args, stop := c.values(e.Pos, e.Args[1:])
	if stop != nil {
		return stop
	}
	x := c.numberOf(args[0])
	if x.Type().Kind != types.Int {
		c.errorf(x.Position(), "strftime() takes nanoseconds, not %s", describe(x.Type()))
		return bad(e.Pos)
	}
	out.T, out.Args = &types.Type{Kind: types.Timestamp}, []Expr{c.widenInt(x, types.Uint64)}
	return out
}
