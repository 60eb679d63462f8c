package check

import (
	"cmp"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// function describes how to check a call of a function of the language.
type function struct {
	least, most int  // number of arguments; most is -1 for any number
	unsafe      bool // it changes the host, so it requires --unsafe
	check       func(c *checker, e *syntax.Call) Expr
}

func (c *checker) arity(e *syntax.Call, minArgs, maxArgs int) bool {
	n := len(e.Args)
	if n >= minArgs && (maxArgs < 0 || n <= maxArgs) {
		return true
	}
	switch {
	case maxArgs < 0:
		c.errorf(e.Pos, "%s() takes at least %s, not %d", e.Func, arguments(minArgs), n)
	case minArgs == maxArgs:
		c.errorf(e.Pos, "%s() takes %s, not %d", e.Func, arguments(minArgs), n)
	default:
		c.errorf(e.Pos, "%s() takes %d to %d arguments, not %d", e.Func, minArgs, maxArgs, n)
	}
	return false
}

// arguments returns a count of arguments in words.
func arguments(n int) string {
	switch n {
	case 0:
		return "no argument"
	case 1:
		return "1 argument"
	}
	return fmt.Sprintf("%d arguments", n)
}

func (c *checker) call(e *syntax.Call) Expr {
	if f := c.functions[e.Func]; f != nil {
		return c.invoke(e, f)
	}
	if e.Func == "path" && c.iterates() {
		return c.path(e)
	}
	if hint, ok := refused[e.Func]; ok && e.Func != "fail" {
		c.hintf(e.Pos, hint, "%s() needs BPF, which ringtap does without", e.Func)
		return bad(e.Pos)
	}
	f := lookup(e.Func)
	if f == nil {
		if aggregation(e.Func) != types.None {
			c.hintf(e.Pos, "assign it to a map: @ = "+e.Func+"(…)", "%s() has no value of its own", e.Func)
			return bad(e.Pos)
		}
		if len(e.Args) == 0 && contains(builtinNames, e.Func) {
			return c.ident(&syntax.Ident{Pos: e.Pos, Name: e.Func})
		}
		var own []string
		for name := range c.functions {
			own = append(own, name)
		}
		c.hintf(e.Pos, nearest(e.Func, functionNames, aggregationNames(), own), "no function is named %s", e.Func)
		return bad(e.Pos)
	}
	if !c.arity(e, f.least, f.most) {
		return bad(e.Pos)
	}
	if f.unsafe && !c.opts.Unsafe {
		c.hintf(e.Pos, "use --unsafe", "%s() changes the host", e.Func)
		return bad(e.Pos)
	}
	return f.check(c, e)
}

func (c *checker) invoke(e *syntax.Call, f *Function) Expr {
	if len(e.Args) != len(f.params) {
		c.errorf(e.Pos, "function %s takes %s, not %d", f.name, arguments(len(f.params)), len(e.Args))
		return bad(e.Pos)
	}
	out := &Invoke{Typed{e.Pos, f.result}, f, nil}
	for i, a := range e.Args {
		x := c.value(a)
		if !compatible(x.Type(), f.params[i].Type) {
			c.errorf(a.Position(), "parameter %s is %s, not %s", f.params[i].Name, describe(f.params[i].Type), describe(x.Type()))
			return bad(e.Pos)
		}
		out.Args = append(out.Args, c.convertTo(x, f.params[i].Type))
	}
	return out
}

// values checks arguments that must have values. If one is wrong or its type is not known yet, it
// returns nil and an expression to use for the whole call.
func (c *checker) values(pos syntax.Pos, list []syntax.Expr) ([]Expr, Expr) {
	var stop Expr
	out := make([]Expr, 0, len(list))
	for _, a := range list {
		x := c.value(a)
		switch x.Type() {
		case wrong:
			stop = bad(pos)
		case pending:
			if stop == nil {
				stop = unknownUntilFinal(c, pos)
			}
		}
		out = append(out, x)
	}
	if stop != nil {
		return nil, stop
	}
	return out, nil
}

// constantText returns an argument that must be a string constant.
func (c *checker) constantText(e *syntax.Call, i int) (string, bool) {
	if p, ok := e.Args[i].(*syntax.Positional); ok && p.N <= len(c.opts.Params) {
		return c.opts.Params[p.N-1], true
	}
	x := c.value(e.Args[i])
	k, ok := constant(x)
	if ok && k.T.Kind == types.String {
		return k.S, true
	}
	if x.Type() != wrong && (known(x.Type()) || c.final) {
		c.errorf(e.Args[i].Position(), "argument %d of %s() is a literal string", i+1, e.Func)
	}
	return "", false
}

// checkPton checks pton("127.0.0.1").
func checkPton(c *checker, e *syntax.Call) Expr {
	text, ok := c.constantText(e, 0)
	if !ok {
		return bad(e.Pos)
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		c.errorf(e.Pos, "%q is no address of IPv4 or IPv6", text)
		return bad(e.Pos)
	}
	b := a.AsSlice()
	t := &types.Type{Kind: types.Array, Elem: types.Uint8, Len: len(b), Size: len(b)}
	return &Const{Typed: Typed{e.Pos, t}, S: string(b)}
}

// checkNamed checks functions that ask the host for an address or an id: kaddr, uaddr, cgroupid,
// reg.
func checkNamed(c *checker, e *syntax.Call) Expr {
	text, ok := c.constantText(e, 0)
	if !ok {
		return bad(e.Pos)
	}
	switch e.Func {
	case "reg":
		if !c.only(e.Pos, "reg()", regProviders) {
			return bad(e.Pos)
		}
		if !c.env().Register(text) {
			c.hintf(e.Pos, "the names are the kernel's: ip, sp and so on", "this machine has no register %s", text)
			return bad(e.Pos)
		}
		return c.source(e.Pos, &Source{Root: RegisterRoot, Name: text, Type: types.Uint64})
	case "cgroupid":
		id, err := c.env().Cgroup(text)
		if err != nil {
			c.errorf(e.Pos, "cgroupid(): %v", err)
			return bad(e.Pos)
		}
		return &Const{Typed: Typed{e.Pos, types.Uint64}, N: id}
	}
	if e.Func == "uaddr" {
		return c.variable(e, text)
	}
	address, _, err := c.env().Symbol(text, nil)
	if err != nil {
		c.errorf(e.Pos, "kaddr(): %v", err)
		return bad(e.Pos)
	}
	return &Const{Typed: Typed{e.Pos, types.Uint64}, N: address}
}

// variable checks uaddr(name): the address of a variable or function of the probed program. The
// program of every attach point must have it.
func (c *checker) variable(e *syntax.Call, name string) Expr {
	if !c.only(e.Pos, "uaddr()", []string{"uprobe", "uretprobe", "usdt"}) {
		return bad(e.Pos)
	}
	size := -1
	for _, p := range c.probe.Points {
		_, n, err := c.env().Symbol(name, p)
		if n != 1 && n != 2 && n != 4 {
			n = 8
		}
		if err == nil && size >= 0 && n != size {
			err = fmt.Errorf("%s has another size at %s than at %s", name, p.Text, c.probe.Points[0].Text)
		}
		if err != nil {
			c.errorf(e.Pos, "uaddr(): %v", err)
			return bad(e.Pos)
		}
		size = n
	}
	t := &types.Type{Kind: types.Pointer, Size: 8, Elem: types.Integer(size, false), User: true}
	return c.source(e.Pos, &Source{Root: VariableRoot, Name: name, Type: t})
}

// checkOption checks getopt(name, default, help).
func checkOption(c *checker, e *syntax.Call) Expr {
	name, ok := c.constantText(e, 0)
	if !ok {
		return bad(e.Pos)
	}
	o := NamedOption{Name: name, Type: types.Truth, Default: "false"}
	k := &Const{Typed: Typed{e.Pos, types.Truth}}
	if len(e.Args) > 1 {
		x := c.value(e.Args[1])
		if k, ok = constant(x); !ok {
			c.errorf(x.Position(), "the default of getopt() is a constant")
			return bad(e.Pos)
		}
		o.Type = k.T
		switch k.T.Kind {
		case types.Int:
			o.Type, o.Default = types.Int64, number(k)
		case types.String:
			o.Default = k.S
		case types.Bool:
			o.Default = fmt.Sprint(k.N != 0)
		}
	}
	if len(e.Args) > 2 {
		o.Help, _ = c.constantText(e, 2)
	}
	c.prog.Options = append(c.prog.Options, o)
	text, given := c.opts.Named[name]
	if !given {
		return &Const{Typed: Typed{e.Pos, o.Type}, N: k.N, S: k.S}
	}
	out := &Const{Typed: Typed{e.Pos, o.Type}}
	switch o.Type.Kind {
	case types.String:
		return c.text(e.Pos, text)
	case types.Bool:
		if set, err := strconv.ParseBool(cmp.Or(text, "true")); set {
			out.N = 1
		} else if err != nil {
			c.errorf(e.Pos, "--%s is true or false, not %q", name, text)
		}
	default:
		n, err := strconv.ParseInt(text, 0, 64)
		if out.N = uint64(n); err != nil {
			if out.N, err = strconv.ParseUint(text, 0, 64); err != nil {
				c.errorf(e.Pos, "--%s is a number, not %q", name, text)
			}
			out.T = types.Uint64
		}
	}
	return out
}
