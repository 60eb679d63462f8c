package eval

import (
	"slices"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// Machine.late is set while an expression is evaluated if it reads memory later than the hit. Code
// that stores or prints the value checks it. Maps remember which keys and numbers were late, and
// Machine.Late counts them.

// load reads memory and sets m.late if that happened later than the hit.
func (m *Machine) load(address uint64, user bool, b []byte) bool {
	ok, late := m.opts.Host.Read(m.hit, address, user, b)
	m.late = m.late || late
	return ok
}

// seen returns v and sets m.late if v was read late.
func (m *Machine) seen(v value.Value) value.Value {
	if v.IsLate() {
		m.late = true
	}
	return v
}

// marked compiles an expression so that its value says whether it was read late.
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

// stored compiles a statement that stores the number x, or 0 if x is nil, at an element. It marks
// and counts late numbers and keys.
func (c *compiler) stored(e *check.Element, x check.Expr, store func(m *Machine, k value.Key, n uint64)) doFunc {
	key, number := c.key(e), func(*Machine) uint64 { return 0 }
	late := c.mayHaveLateKey(e)
	if x != nil {
		number = c.int(x)
		late = late || c.mayBeLate(x)
	}
	if !late {
		return func(m *Machine) flow {
			n := number(m)
			store(m, key(m), n)
			return next
		}
	}
	at, index := c.m.Maps[e.Map.Index], e.Map.Index
	return func(m *Machine) flow {
		m.late = false
		n := number(m)
		lateNumber := m.late
		m.lateKey = false
		k := key(m)
		store(m, k, n)
		if lateNumber {
			m.Late[index]++
			at.MarkNumber(k)
		}
		if m.lateKey {
			at.MarkKey(k)
		}
		return next
	}
}

// mayHaveLateKey reports whether a part of the element's key may be read later than the hit.
func (c *compiler) mayHaveLateKey(e *check.Element) bool {
	return e.Whole != nil && c.mayBeLate(e.Whole) || slices.ContainsFunc(e.Keys, c.mayBeLate)
}

// countKey wraps key to count late keys and to set Machine.lateKey.
func (c *compiler) countKey(e *check.Element, key func(m *Machine) value.Key) func(m *Machine) value.Key {
	if !c.mayHaveLateKey(e) {
		return key
	}
	index := e.Map.Index
	return func(m *Machine) value.Key {
		before := m.late
		m.late = false
		k := key(m)
		if m.lateKey = m.late; m.late {
			m.Late[index]++
		}
		m.late = before
		return k
	}
}

// element compiles the value of an element. It sets m.late if the number is marked.
func (c *compiler) element(e *check.Element) func(m *Machine) (value.Value, bool) {
	key, at := c.key(e), c.m.Maps[e.Map.Index]
	return func(m *Machine) (value.Value, bool) {
		k := key(m)
		v, ok := at.Get(k)
		if at.IsLate(k) {
			m.late = true
		}
		return v, ok
	}
}

// findLate finds the variables of a block that may hold values read later than the hit. It repeats
// because a loop may use a variable above the statement that makes it late.
func (c *compiler) findLate(b *check.Block) {
	for found := true; found; {
		found = false
		set := func(s check.Stmt) {
			var v *check.Var
			switch s := s.(type) {
			case *check.SetVar:
				if s.X != nil && c.mayBeLate(s.X) {
					v = s.Var
				}
			case *check.ForMap:
				v = s.Var
			}
			if v != nil && !c.late[v] {
				c.late[v], found = true, true
			}
		}
		check.Statements(b, set)
		check.Walk(b, func(e check.Expr) {
			if e, ok := e.(*check.BlockExpr); ok {
				check.Statements(e.Body, set)
			}
		})
	}
}

// mayBeLate reports whether e may depend on memory that is read later than the hit. In doubt it
// returns true.
func (c *compiler) mayBeLate(e check.Expr) bool {
	may := false
	check.Walk(e, func(e check.Expr) {
		switch e := e.(type) {
		case *check.Load, *check.Read, *check.Invoke, *check.BlockExpr, *check.Element:
			may = true
		case *check.FromHit:
			s := c.sources[e.Source]
			may = may || len(s.Path) > 0 || s.Form != check.Plain
		case *check.Local:
			may = may || c.late[e.Var]
		}
	})
	return may
}
