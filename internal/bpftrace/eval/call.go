package eval

import (
	"math/bits"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/show"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// do compiles an expression for its effects.
func (c *compiler) do(e check.Expr) doFunc {
	call, ok := e.(*check.Call)
	if ok && e.Type().Kind == types.None {
		return c.statement(call)
	}
	var run func(m *Machine)
	switch t := e.Type(); {
	case t.Kind == types.None:
		f, ok := e.(*check.Invoke)
		if !ok {
			c.fail(e)
			return func(*Machine) flow { return next }
		}
		call := c.invoke(f)
		run = func(m *Machine) { call(m) }
	case numeric(t):
		f := c.int(e)
		run = func(m *Machine) { f(m) }
	default:
		f := c.value(e)
		run = func(m *Machine) { f(m) }
	}
	return func(m *Machine) flow { run(m); return next }
}

// statement compiles a call without a value.
func (c *compiler) statement(e *check.Call) doFunc {
	out := c.m.opts.Output
	switch e.Func {
	case "printf", "errorf", "warnf", "debugf", "cat", "system":
		return c.formatted(e)
	case "print":
		return c.print(e)
	case "clear":
		at := c.m.Maps[e.Map.Index]
		return func(*Machine) flow { at.Clear(); return next }
	case "zero":
		at := c.m.Maps[e.Map.Index]
		return func(*Machine) flow { at.Zero(); return next }
	case "time":
		format := e.Format
		return func(m *Machine) flow { out.Time(format, m.opts.Host.Wall(m.hit.Time)); return next }
	case "exit":
		code := func(*Machine) uint64 { return 0 }
		if len(e.Args) > 0 {
			code = c.int(e.Args[0])
		}
		return func(m *Machine) flow { return m.exit(int(code(m))) }
	case "join":
		words, sep := c.marked(e.Args[0]), e.Format
		return func(m *Machine) flow {
			v := words(m)
			if w := strings.TrimSuffix(v.S, "\x00"); w != "" {
				out.Join(strings.Split(w, "\x00"), sep, v.IsLate())
			}
			return next
		}
	case "assert":
		cond, message, pos := c.truth(e.Args[0]), e.Format, e.Pos
		return func(m *Machine) flow {
			if cond(m) != 0 {
				return next
			}
			m.opts.Host.Message(Error, pos, "assert failed: "+message)
			return m.exit(1)
		}
	case "signal", "signal_thread":
		return c.signal(e)
	case "unwatch":
		return func(*Machine) flow { return next }
	}
	c.fail(e)
	return func(*Machine) flow { return next }
}

func (m *Machine) exit(code int) flow {
	if !m.exited {
		m.exited, m.code = true, code
	}
	m.leaving = true
	return leave
}

func (c *compiler) signal(e *check.Call) doFunc {
	thread, pos := e.Func == "signal_thread", e.Pos
	number := func(*Machine) uint64 { return 0 }
	name := func(*Machine) string { return "" }
	if text(e.Args[0].Type()) {
		name = c.text(e.Args[0])
	} else {
		number = c.int(e.Args[0])
	}
	return func(m *Machine) flow {
		if err := m.opts.Host.Signal(m.hit, int64(number(m)), name(m), thread); err != nil {
			m.once(pos, err.Error())
		}
		return next
	}
}

// formatted compiles printf and the like.
func (c *compiler) formatted(e *check.Call) doFunc {
	list := make([]*types.Type, len(e.Args))
	get := make([]valueFunc, len(e.Args))
	for i, a := range e.Args {
		list[i], get[i] = a.Type(), c.marked(a)
	}
	f, err := show.ParseFormat(e.Func, e.Format, list)
	if err != nil && c.err == nil {
		c.err = err
	}
	args := make([]value.Value, len(get))
	out, pos, most := c.m.opts.Output, e.Pos, c.m.prog.Config.MaxCatBytes
	fill := func(m *Machine) {
		for i, g := range get {
			args[i] = g(m)
		}
	}
	switch e.Func {
	case "printf":
		return func(m *Machine) flow { fill(m); out.Printf(f, args); return next }
	case "system":
		return func(m *Machine) flow {
			fill(m)
			out.System(m.opts.Host.System(out.SprintfRaw(f, args)))
			return next
		}
	case "cat":
		return func(m *Machine) flow {
			fill(m)
			b, err := m.opts.Host.File(out.SprintfRaw(f, args), most)
			if err != nil {
				m.opts.Host.Message(Error, pos, err.Error())
				return next
			}
			out.Cat(b)
			return next
		}
	}
	level := map[string]Level{"errorf": Error, "warnf": Warning, "debugf": Debug}[e.Func]
	return func(m *Machine) flow {
		fill(m)
		m.opts.Host.Message(level, pos, out.Sprintf(f, args))
		return next
	}
}

func (c *compiler) print(e *check.Call) doFunc {
	out := c.m.opts.Output
	if e.Map != nil {
		at := c.m.Maps[e.Map.Index]
		if len(e.Args) == 1 {
			if el, ok := e.Args[0].(*check.Element); ok {
				key := c.key(el)
				return func(m *Machine) flow { out.Element(at, key(m)); return next }
			}
		}
		var n [2]uint64
		for i, a := range e.Args {
			n[i] = a.(*check.Const).N
		}
		top, div := int(min(n[0], 1<<30)), n[1]
		return func(*Machine) flow { out.Map(at, top, div); return next }
	}
	x, t := c.marked(e.Args[0]), e.Args[0].Type()
	return func(m *Machine) flow { out.Value(t, x(m)); return next }
}

// callInt compiles a call whose value is a number.
func (c *compiler) callInt(e *check.Call) intFunc {
	switch e.Func {
	case "delete", "has_key", "find":
		return c.keyed(e)
	case "len":
		if e.Map != nil {
			at := c.m.Maps[e.Map.Index]
			return func(*Machine) uint64 { return uint64(at.Len()) }
		}
		x, user := c.int(e.Args[0]), e.Args[0].Type().Kind == types.UStack
		return func(m *Machine) uint64 { return uint64(m.opts.Host.Frames(x(m), user)) }
	case "ksym":
		return c.int(e.Args[0])
	case "cgroup_path":
		return c.int(e.Args[0])
	case "usym":
		x := c.int(e.Args[0])
		return func(m *Machine) uint64 { return m.opts.Host.UserAddress(m.hit, x(m)) }
	case "bswap":
		x, shift := c.int(e.Args[0]), 64-8*e.T.Size
		return func(m *Machine) uint64 { return bits.ReverseBytes64(x(m)) >> shift }
	case "is_err":
		x := c.int(e.Args[0])
		return func(m *Machine) uint64 { n := int64(x(m)); return truth(n < 0 && n >= -4095) }
	case "strcap":
		n := uint64(e.Args[0].Type().Size)
		return func(*Machine) uint64 { return n }
	}
	return c.strings(e)
}

// delete compiles a delete whose result is not used.
func (c *compiler) delete(e *check.Call) doFunc {
	there, pos := c.keyed(e), e.Pos
	return func(m *Machine) flow {
		if there(m) == 0 {
			m.once(pos, "delete() found no such key in "+e.Map.Name)
		}
		return next
	}
}

// keyed compiles delete, has_key and find.
func (c *compiler) keyed(e *check.Call) intFunc {
	key, at := c.key(e.Args[0].(*check.Element)), c.m.Maps[e.Map.Index]
	switch e.Func {
	case "delete":
		return func(m *Machine) uint64 { return truth(at.Delete(key(m))) }
	case "has_key":
		return func(m *Machine) uint64 { return truth(at.Has(key(m))) }
	}
	slot := e.Args[1].(*check.Local).Var.Slot
	return func(m *Machine) uint64 {
		v, ok := at.Get(key(m))
		if ok {
			m.vars[slot] = v
		}
		return truth(ok)
	}
}
