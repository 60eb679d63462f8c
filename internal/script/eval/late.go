package eval

import (
	"github.com/ringtap/ringtap/internal/script/check"
	"github.com/ringtap/ringtap/internal/script/value"
)

// Machine.late goes along with an evaluation: what reads memory later than the hit sets it, and
// who keeps or prints a value looks at it. Numbers in maps and keys have no room for the mark;
// they are counted.

// load reads memory.
func (m *Machine) load(address uint64, user bool, b []byte) bool {
	ok, late := m.opts.Host.Read(m.hit, address, user, b)
	m.late = m.late || late
	return ok
}

// seen notes whether a value that the evaluation takes was read late.
func (m *Machine) seen(v value.Value) value.Value {
	if v.IsLate() {
		m.late = true
	}
	return v
}

// marked compiles an expression whose value is kept or printed with its mark.
func (c *compiler) marked(e check.Expr) valueFunc {
	f := c.value(e)
	if !c.mayBeLate(e) {
		return f
	}
	return func(m *Machine) value.Value {
		before := m.late
		m.late = false
		v := f(m)
		if m.late && v.T == nil {
			v = v.Late()
		}
		m.late = m.late || before
		return v
	}
}

// counted compiles a number for a map.
func (c *compiler) counted(of *check.Map, e check.Expr) intFunc {
	f := c.int(e)
	if !c.mayBeLate(e) {
		return f
	}
	index := of.Index
	return func(m *Machine) uint64 {
		m.late = false
		n := f(m)
		if m.late {
			m.Late[index]++
		}
		return n
	}
}

// lateKey counts the keys of an element that were read late.
func (c *compiler) lateKey(e *check.Element, key func(m *Machine) value.Key) func(m *Machine) value.Key {
	may := e.Whole != nil && c.mayBeLate(e.Whole)
	for _, k := range e.Keys {
		may = may || c.mayBeLate(k)
	}
	if !may {
		return key
	}
	index := e.Map.Index
	return func(m *Machine) value.Key {
		before := m.late
		m.late = false
		k := key(m)
		if m.late {
			m.Late[index]++
		}
		m.late = before
		return k
	}
}

// mayBeLate tells whether memory that is read later than the hit may be in a value. It errs on
// the side of yes.
func (c *compiler) mayBeLate(e check.Expr) bool {
	may := false
	check.Walk(e, func(e check.Expr) {
		switch e := e.(type) {
		case *check.Load, *check.Read, *check.Invoke, *check.BlockExpr:
			may = true
		case *check.FromHit:
			s := c.sources[e.Source]
			may = may || len(s.Path) > 0 || s.Form != check.Plain
		case *check.Local:
			may = may || c.late[e.Var]
		case *check.Element:
			may = may || !numeric(e.T)
		}
	})
	return may
}
