package check

import (
	"math/bits"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// ints returns the check of a function with integer arguments.
func ints(result *types.Type) func(*checker, *syntax.Call) Expr {
	return func(c *checker, e *syntax.Call) Expr {
		args, stop := c.values(e.Pos, e.Args)
		if stop != nil {
			return stop
		}
		for i, x := range args {
			x = c.numberOf(x)
			if k := x.Type().Kind; k != types.Int && k != types.Pointer {
				c.errorf(x.Position(), "argument %d of %s() is an integer, not %s", i+1, e.Func, describe(x.Type()))
				return bad(e.Pos)
			}
			args[i] = settled(x)
		}
		return &Call{Typed: Typed{e.Pos, result}, Func: e.Func, Args: args}
	}
}

// checkSwap checks bswap(n).
func checkSwap(c *checker, e *syntax.Call) Expr {
	args, stop := c.values(e.Pos, e.Args)
	if stop != nil {
		return stop
	}
	t := args[0].Type()
	if t.Kind != types.Int {
		c.errorf(e.Pos, "bswap() takes an integer, not %s", describe(t))
		return bad(e.Pos)
	}
	u := types.Integer(t.Size, false)
	if k, ok := constant(args[0]); ok {
		return &Const{Typed: Typed{e.Pos, u}, N: bits.ReverseBytes64(k.N) >> (64 - 8*t.Size)}
	}
	return &Call{Typed: Typed{e.Pos, u}, Func: "bswap", Args: []Expr{c.widenInt(args[0], u)}}
}

// checkPointer checks kptr and uptr: the same address as a pointer to kernel or user memory.
func checkPointer(c *checker, e *syntax.Call) Expr {
	args, stop := c.values(e.Pos, e.Args)
	if stop != nil {
		return stop
	}
	t := args[0].Type()
	switch t.Kind {
	case types.Pointer:
	case types.Int:
		t = &types.Type{Kind: types.Pointer, Size: 8, Elem: types.Void}
	default:
		c.errorf(e.Pos, "%s() takes an address, not %s", e.Func, describe(t))
		return bad(e.Pos)
	}
	p := *t
	p.User = e.Func == "uptr"
	return &Convert{Typed{e.Pos, &p}, args[0]}
}

// checkKind checks is_str(x) and the like, which are constants.
func checkKind(c *checker, e *syntax.Call) Expr {
	x := c.expr(e.Args[0])
	t := x.Type()
	if !known(t) {
		return unknownUntilFinal(c, e.Pos)
	}
	var is bool
	switch e.Func {
	case "is_str":
		is = t.Kind == types.String
	case "is_array":
		is = t.Kind == types.Array
	case "is_ptr":
		is = t.Kind == types.Pointer
	case "is_integer":
		is = t.Kind == types.Int
	case "is_unsigned_integer":
		is = t.Kind == types.Int && !t.Signed
	case "is_literal":
		k, ok := x.(*Const)
		is = ok && k.literal
	}
	return &Const{Typed: Typed{e.Pos, c.truthType()}, N: boolean(is)}
}

// checkMode checks nsecs(mode), pid(mode) and tid(mode).
func checkMode(c *checker, e *syntax.Call) Expr {
	modes := []string{"curr_ns", "init"}
	if e.Func == "nsecs" {
		modes = []string{"boot", "monotonic", "tai", "sw_tai"}
	}
	mode := modes[0]
	if len(e.Args) == 1 {
		id, ok := e.Args[0].(*syntax.Ident)
		if !ok || !contains(modes, id.Name) {
			c.hintf(e.Args[0].Position(), "modes are "+strings.Join(modes, ", "), "%s() takes a mode", e.Func)
			return bad(e.Pos)
		}
		mode = id.Name
	}
	if e.Func == "nsecs" {
		return &Header{Typed: Typed{e.Pos, types.Uint64}, Name: "nsecs", Mode: mode}
	}
	if mode == "init" && c.opts.Nested {
		c.hintf(e.Pos, "run ringtap outside of the container", "%s(init) is not known in a namespace of processes other than the first", e.Func)
		return bad(e.Pos)
	}
	return &Header{Typed: Typed{e.Pos, c.narrow(types.Uint32)}, Name: e.Func}
}

func checkStack(c *checker, e *syntax.Call) Expr { return c.stack(e.Pos, e.Func, e.Args) }

// checkAssert checks assert(condition, message).
func checkAssert(c *checker, e *syntax.Call) Expr {
	x := c.condition(c.value(e.Args[0]))
	text, ok := c.constantText(e, 1)
	if !ok {
		return bad(e.Pos)
	}
	if k, ok := constant(x); ok && e.Func == "static_assert" && !truth(k) {
		c.errorf(e.Pos, "%s", text)
	} else if !ok && e.Func == "static_assert" && known(x.Type()) {
		c.errorf(e.Pos, "static_assert() takes a constant")
	}
	return &Call{Typed: Typed{e.Pos, types.Void}, Func: "assert", Format: text, Args: []Expr{x}}
}

// checkSignal checks signal(number or name).
func checkSignal(c *checker, e *syntax.Call) Expr {
	args, stop := c.values(e.Pos, e.Args)
	if stop != nil {
		return stop
	}
	if k := args[0].Type().Kind; k != types.Int && k != types.String {
		c.errorf(e.Pos, "signal() takes a number or a name, not %s", describe(args[0].Type()))
		return bad(e.Pos)
	}
	return &Call{Typed: Typed{e.Pos, types.Void}, Func: e.Func, Args: []Expr{settled(args[0])}}
}

// checkCgroupPath checks cgroup_path(id, filter).
func checkCgroupPath(c *checker, e *syntax.Call) Expr {
	args, stop := c.values(e.Pos, e.Args[:1])
	if stop != nil {
		return stop
	}
	if args[0].Type().Kind != types.Int {
		c.errorf(e.Pos, "cgroup_path() takes the id of a cgroup, not %s", describe(args[0].Type()))
		return bad(e.Pos)
	}
	out := &Call{Typed: Typed{e.Pos, &types.Type{Kind: types.CgroupPath}}, Func: e.Func, Args: []Expr{c.widenInt(args[0], types.Uint64)}}
	if len(e.Args) > 1 {
		out.Format, _ = c.constantText(e, 1)
	}
	return out
}

// functionNames are the functions that lookup knows.
var functionNames = []string{
	"printf", "errorf", "warnf", "debugf", "cat", "system", "fail", "print", "clear", "zero", "delete",
	"has_key", "find", "len", "time", "strftime", "pton", "reg", "cgroupid", "kaddr", "uaddr", "getopt",
	"exit", "str", "buf", "join", "ntop", "macaddr", "bswap", "kptr", "uptr", "is_str", "is_array",
	"is_ptr", "is_integer", "is_unsigned_integer", "is_literal", "nsecs", "pid", "tid", "kstack",
	"ustack", "dw_ustack", "assert", "static_assert", "signal", "signal_thread", "cgroup_path", "ksym",
	"usym", "strncmp", "strcontains", "strstr", "strlen", "strcap", "str_concat", "str_join", "strerror",
	"signal_name", "syscall_name", "fdpath", "file_number", "has_field", "memcmp", "is_err", "unwatch", "typeinfo", "container_of", "assert_str",
	"comm", "ppid", "pcomm", "leader_tid", "leader_comm",
}

// lookup returns the function of the language called name, or nil.
func lookup(name string) *function {
	switch name {
	case "printf", "errorf", "warnf", "debugf", "cat":
		return &function{1, -1, false, checkFormat}
	case "system":
		return &function{1, -1, true, checkFormat}
	case "fail":
		return &function{1, -1, false, checkFail}
	case "print":
		return &function{1, 3, false, checkPrint}
	case "clear", "zero":
		return &function{1, 1, false, checkWholeMap}
	case "delete":
		return &function{1, 2, false, checkKey}
	case "has_key":
		return &function{2, 2, false, checkKey}
	case "find":
		return &function{3, 3, false, checkFind}
	case "len":
		return &function{1, 1, false, checkLen}
	case "time":
		return &function{0, 1, false, checkTime}
	case "strftime":
		return &function{2, 2, false, checkTime}
	case "pton":
		return &function{1, 1, false, checkPton}
	case "reg", "cgroupid", "kaddr", "uaddr":
		return &function{1, 1, false, checkNamed}
	case "getopt":
		return &function{1, 3, false, checkOption}
	case "exit":
		return &function{0, 1, false, ints(types.Void)}
	case "str":
		return &function{1, 2, false, checkStr}
	case "buf":
		return &function{1, 2, false, checkBuf}
	case "join", "str_join":
		return &function{1, 2, false, checkJoin}
	case "ntop":
		return &function{1, 2, false, checkAddress}
	case "macaddr":
		return &function{1, 1, false, checkAddress}
	case "bswap":
		return &function{1, 1, false, checkSwap}
	case "kptr", "uptr":
		return &function{1, 1, false, checkPointer}
	case "is_str", "is_array", "is_ptr", "is_integer", "is_unsigned_integer", "is_literal":
		return &function{1, 1, false, checkKind}
	case "nsecs", "pid", "tid":
		return &function{0, 1, false, checkMode}
	case "kstack", "ustack", "dw_ustack":
		return &function{0, 2, false, checkStack}
	case "assert", "static_assert":
		return &function{2, 2, false, checkAssert}
	case "signal", "signal_thread":
		return &function{1, 1, true, checkSignal}
	case "cgroup_path":
		return &function{1, 2, false, checkCgroupPath}
	case "ksym":
		return &function{1, 1, false, ints(&types.Type{Kind: types.KSym})}
	case "usym":
		return &function{1, 1, false, ints(&types.Type{Kind: types.USym})}
	case "strncmp":
		return &function{3, 3, false, texts(types.Uint64, 2)}
	case "strcontains":
		return &function{2, 2, false, texts(types.Truth, 2)}
	case "strstr":
		return &function{2, 2, false, texts(types.Int64, 2)}
	case "strlen":
		return &function{1, 1, false, texts(types.Uint64, 1)}
	case "strcap":
		return &function{1, 1, false, texts(types.Int64, 1)}
	case "str_concat":
		return &function{2, 2, false, texts(nil, 2)}
	case "file_number":
		return &function{2, 2, false, texts(types.Int64, 2)}
	case "has_field":
		return &function{1, 1, false, checkHasField}
	case "memcmp":
		return &function{3, 3, false, texts(types.Int64, 2)}
	case "strerror", "signal_name", "syscall_name":
		return &function{1, 1, false, ints(&types.Type{Kind: types.String, Size: 64})}
	case "fdpath":
		return &function{1, 1, false, ints(&types.Type{Kind: types.String, Size: 4096})}
	case "is_err":
		return &function{1, 1, false, ints(types.Truth)}
	case "unwatch":
		return &function{1, 1, false, ints(types.Void)}
	case "typeinfo":
		return &function{1, 1, false, checkTypeinfo}
	case "container_of":
		return &function{3, 3, false, checkContainer}
	case "assert_str":
		return &function{1, 1, false, checkAssertStr}
	case "comm":
		return &function{0, 1, false, checkComm}
	case "ppid", "pcomm", "leader_tid", "leader_comm":
		return &function{0, 1, false, checkTask}
	}
	return nil
}
