package eval

import (
	"math/bits"
	"strings"

	"github.com/ringtap/ringtap/internal/script/check"
	"github.com/ringtap/ringtap/internal/script/show"
	"github.com/ringtap/ringtap/internal/script/types"
	"github.com/ringtap/ringtap/internal/script/value"
)

// do compiles an expression that stands for what it does.
func (c *compiler) do(e check.Expr) doFunc {
	call, ok := e.(*check.Call)
	if ok && e.Type().Kind == types.None {
		return c.statement(call)
	}
	if x, ok := e.(*check.Cond); ok && e.Type().Kind == types.None {
		cond, a, b := c.truth(x.C), c.do(x.A), c.do(x.B)
		return func(m *Machine) flow {
			if cond(m) != 0 {
				return a(m)
			}
			return b(m)
		}
	}
	if b, ok := e.(*check.BlockExpr); ok && e.Type().Kind == types.None {
		body := c.block(b.Body)
		if b.Result == nil {
			return body
		}
		result := c.do(b.Result)
		return func(m *Machine) flow {
			if f := body(m); f != next {
				return f
			}
			return result(m)
		}
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
	return func(m *Machine) flow {
		run(m)
		if m.leaving {
			return leave
		}
		return next
	}
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
		words, sep := c.text(e.Args[0]), e.Format
		return func(m *Machine) flow {
			if w := strings.TrimSuffix(words(m), "\x00"); w != "" {
				out.Join(strings.Split(w, "\x00"), sep)
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
		list[i], get[i] = a.Type(), c.value(a)
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
			out.System(m.opts.Host.System(out.Sprintf(f, args)))
			return next
		}
	case "cat":
		return func(m *Machine) flow {
			fill(m)
			b, err := m.opts.Host.File(out.Sprintf(f, args), most)
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
	x, t := c.value(e.Args[0]), e.Args[0].Type()
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

// strings compiles functions of strings that are numbers.
func (c *compiler) strings(e *check.Call) intFunc {
	if len(e.Args) == 0 || !text(e.Args[0].Type()) {
		c.fail(e)
		return func(*Machine) uint64 { return 0 }
	}
	x := c.text(e.Args[0])
	if e.Func == "strlen" {
		return func(m *Machine) uint64 { return uint64(len(cString(x(m)))) }
	}
	y := c.text(e.Args[1])
	switch e.Func {
	case "strcontains":
		return func(m *Machine) uint64 { a := cString(x(m)); return truth(strings.Contains(a, cString(y(m)))) }
	case "strstr":
		return func(m *Machine) uint64 {
			a := cString(x(m))
			return uint64(int64(strings.Index(a, cString(y(m)))))
		}
	case "strncmp":
		n := c.int(e.Args[2])
		return func(m *Machine) uint64 {
			a, b := cString(x(m)), cString(y(m))
			count := n(m)
			return truth(a[:min(uint64(len(a)), count)] != b[:min(uint64(len(b)), count)])
		}
	case "memcmp":
		n := c.int(e.Args[2])
		return func(m *Machine) uint64 { a := x(m); b := y(m); return uint64(compareBytes(a, b, n(m))) }
	}
	c.fail(e)
	return func(*Machine) uint64 { return 0 }
}

// compareBytes compares n bytes. What is missing of a value is zero.
func compareBytes(a, b string, n uint64) int64 {
	for i := uint64(0); i < n && (i < uint64(len(a)) || i < uint64(len(b))); i++ {
		var x, y byte
		if i < uint64(len(a)) {
			x = a[i]
		}
		if i < uint64(len(b)) {
			y = b[i]
		}
		if x != y {
			return int64(x) - int64(y)
		}
	}
	return 0
}

// cString returns s up to its first zero.
func cString(s string) string {
	if end := strings.IndexByte(s, 0); end >= 0 {
		return s[:end]
	}
	return s
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

// callText compiles a call whose value is bytes.
func (c *compiler) callText(e *check.Call) textFunc {
	switch e.Func {
	case "str", "buf":
		s, n, t, extra := c.text(e.Args[0]), c.int(e.Args[1]), e.T, uint64(0)
		if e.Func == "str" {
			// str(s, n) is at most n bytes; its type has one more for the end.
			extra = 1
		}
		return func(m *Machine) string {
			text := s(m)
			return resize(text[:min(uint64(len(text)), n(m))], &types.Type{Kind: t.Kind, Size: t.Size + int(extra)})
		}
	case "str_concat":
		x, y, t := c.text(e.Args[0]), c.text(e.Args[1]), e.T
		return func(m *Machine) string { a := cString(x(m)); return resize(a+cString(y(m)), t) }
	case "strerror", "signal_name", "syscall_name":
		n, name := c.int(e.Args[0]), e.Func
		return func(m *Machine) string { return m.opts.Host.Word(name, int64(n(m))) }
	case "ntop":
		return c.ntop(e)
	case "macaddr":
		return c.bytes(e.Args[0], 6)
	}
	c.fail(e)
	return func(*Machine) string { return "" }
}

// ntop makes an address of an integer or of bytes.
func (c *compiler) ntop(e *check.Call) textFunc {
	x := e.Args[len(e.Args)-1]
	size := 4
	if x.Type().Kind != types.Int && x.Type().Size >= 16 {
		size = 16
	}
	raw := c.bytes(x, size)
	if len(e.Args) == 1 {
		return raw
	}
	const inet6 = 10
	family := c.int(e.Args[0])
	return func(m *Machine) string {
		six := family(m) == inet6
		b := raw(m)
		if six && len(b) == 4 {
			return b + string(make([]byte, 12))
		}
		if !six {
			return b[:4]
		}
		return b
	}
}

// bytes compiles a value as so many bytes: an integer's as it lies in memory.
func (c *compiler) bytes(x check.Expr, size int) textFunc {
	t := &types.Type{Kind: types.Array, Size: size, Elem: types.Uint8, Len: size}
	if numeric(x.Type()) {
		n := c.int(x)
		return func(m *Machine) string {
			v := n(m)
			b := make([]byte, size)
			for i := range b {
				b[i] = byte(v >> (8 * (i & 7)))
			}
			return string(b)
		}
	}
	s := c.text(x)
	return func(m *Machine) string { return resize(s(m), t) }
}
