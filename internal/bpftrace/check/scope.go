package check

import (
	"cmp"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// variable is what the checker knows about a variable across passes.
type variable struct {
	*Var
	typ    *types.Type
	sets   int  // number of assignments in this pass
	bare   bool // its let has no value
	before int  // number of assignments in the last pass
	loop   bool // it is the variable of a loop
}

// hoist identifies a variable that is used outside the block that first assigns it. In 0.17,
// variables have the scope of their probe.
type hoist struct {
	probe syntax.Node
	name  string
}

func (c *checker) push() { c.scopes = append(c.scopes, map[string]*variable{}) }
func (c *checker) pop()  { c.scopes = c.scopes[:len(c.scopes)-1] }

func (c *checker) lookup(name string) *variable {
	for i := len(c.scopes) - 1; i >= 0; i-- {
		if v := c.scopes[i][name]; v != nil {
			return v
		}
	}
	return nil
}

// declare declares a variable in the innermost scope.
func (c *checker) declare(node syntax.Node, name string) *variable {
	return c.declareIn(len(c.scopes)-1, node, name)
}

func (c *checker) declareIn(scope int, node syntax.Node, name string) *variable {
	v := c.vars[node]
	if v == nil {
		v = &variable{Var: &Var{Name: name}, typ: pending}
		c.vars[node] = v
	}
	v.Slot = len(*c.frame)
	v.before, v.sets, v.bare, v.from = v.sets, 0, false, nil
	v.Type = settle(v.typ)
	*c.frame = append(*c.frame, v.Var)
	c.scopes[scope][name] = v
	return v
}

// assigned returns the variable that a statement assigns, and declares it if needed.
func (c *checker) assigned(node syntax.Node, name string) *variable {
	if v := c.lookup(name); v != nil {
		return v
	}
	if c.hoisted[c.hoist(name)] {
		return c.declareIn(0, node, name)
	}
	return c.declare(node, name)
}

// hoist returns the key of a variable in the current probe or function.
func (c *checker) hoist(name string) hoist {
	if c.probe != nil {
		return hoist{c.probe, name}
	}
	return hoist{c.function.Pos, name}
}

// read returns the variable that an expression reads, or nil. A variable that was assigned only in
// an inner block gets the scope of the probe in the next pass, as in 0.17.
func (c *checker) read(e *syntax.Var) *variable {
	if v := c.lookup(e.Name); v != nil {
		return v
	}
	for _, v := range *c.frame {
		if v.Name == e.Name && !v.sized {
			if key := c.hoist(e.Name); !c.hoisted[key] {
				c.hoisted[key] = true
				c.changed = true
			}
			return nil
		}
	}
	var all []string
	for _, s := range c.scopes {
		for name := range s {
			all = append(all, name)
		}
	}
	hint := "a variable ends with its probe, a map does not: @" + strings.TrimPrefix(name(e.Name), "$")
	c.hintf(e.Pos, cmp.Or(nearest(e.Name, all), hint), "variable %s has no value here", name(e.Name))
	return nil
}

// widen widens the type of a variable to hold t too. It returns false if no type does.
func (c *checker) widen(v *variable, t *types.Type) bool {
	if v.sized {
		return true
	}
	u := promote(v.typ, t)
	if u == nil {
		return false
	}
	if u != v.typ && !(known(v.typ) && known(u) && equalDeep(u, v.typ)) {
		v.typ = u
		c.changed = true
	}
	v.Type = settle(v.typ)
	return true
}

// widenMap widens the type of a map's values to hold t too. It returns false if no type does.
func (c *checker) widenMap(m *Map, t *types.Type) bool {
	u := promote(m.value, t)
	if u == nil {
		return false
	}
	if u != m.value && !(known(m.value) && known(u) && equalDeep(u, m.value)) {
		m.value = u
		c.changed = true
	}
	return true
}

// widenKey widens the type of a map's key to hold t too. It returns false if no type does.
func (c *checker) widenKey(m *Map, t *types.Type) bool {
	u := promote(m.key, t)
	if u == nil {
		return false
	}
	if u != m.key && !(known(m.key) && known(u) && equalDeep(u, m.key)) {
		m.key = u
		c.changed = true
	}
	return true
}
