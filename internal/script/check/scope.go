package check

import (
	"cmp"
	"strings"

	"github.com/ringtap/ringtap/internal/script/syntax"
	"github.com/ringtap/ringtap/internal/script/types"
)

// variable is what the checker knows of a variable over all passes.
type variable struct {
	*Var
	typ    *types.Type
	sets   int  // assignments in this pass
	bare   bool // its let has no value
	before int  // assignments in the last pass
	loop   bool // it is a loop's own
}

// hoist names a variable of a probe that is used outside of the block that assigns it first. In
// 0.17's dialect all variables of a probe are the probe's.
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

// declare makes the variable that a node declares in the innermost scope.
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

// assigned returns the variable that a statement assigns, which is its declaration if there was
// none before.
func (c *checker) assigned(node syntax.Node, name string) *variable {
	if v := c.lookup(name); v != nil {
		return v
	}
	if c.hoisted[c.hoist(name)] {
		return c.declareIn(0, node, name)
	}
	return c.declare(node, name)
}

// hoist returns the key of a variable in the probe or function that is checked.
func (c *checker) hoist(name string) hoist {
	if c.probe != nil {
		return hoist{c.probe, name}
	}
	return hoist{c.function.Pos, name}
}

// read returns the variable that an expression reads. One that only an inner block assigned
// becomes the probe's, as in 0.17's dialect.
func (c *checker) read(e *syntax.Var) *variable {
	if v := c.lookup(e.Name); v != nil {
		return v
	}
	for _, v := range *c.frame {
		if v.Name == e.Name && !v.Sized {
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

// widen makes the type of a variable hold t too. It returns false if no type does.
func (c *checker) widen(v *variable, t *types.Type) bool {
	if v.Sized {
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

// widenMap makes the type of a map's values hold t too.
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

// widenKey makes the type of a map's key hold t too.
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
