package check

import (
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/profile/histogram"
)

// mapNamed returns the map that e names, regardless of keys.
func (c *checker) mapNamed(e *syntax.Map) *Map {
	if m := c.maps[e.Name]; m != nil {
		m.idle = false
		return m
	}
	return c.newMap(e.Pos, e.Name)
}

// element returns the map element that e names, or nil if its keys are wrong.
func (c *checker) element(e *syntax.Map) *Element {
	m := c.mapNamed(e)
	out := &Element{Typed: Typed{e.Pos, settle(m.value)}, Map: m}
	if len(e.Keys) == 0 {
		if m.keyed {
			c.errorf(e.Pos, "%s has keys elsewhere: %s[…]", m.Name, m.Name)
			return nil
		}
		m.scalar = true
		return out
	}
	if m.scalar {
		c.errorf(e.Pos, "%s has no keys elsewhere", m.Name)
		return nil
	}
	if !c.key(m, e.Pos, e.Keys, out) {
		return nil
	}
	return out
}

// key checks the parts of a key and stores them in e. It returns false after an error.
func (c *checker) key(m *Map, pos syntax.Pos, keys []syntax.Expr, e *Element) bool {
	m.keyed = true
	var t *types.Type
	var list []Expr
	if len(keys) == 1 {
		if tuple, ok := keys[0].(*syntax.Tuple); ok && len(tuple.Elems) > 1 {
			keys = tuple.Elems
		}
	}
	fields := make([]types.Field, len(keys))
	for i, k := range keys {
		x := c.value(k)
		t := x.Type()
		if t == wrong {
			return false
		}
		if t.Kind == types.None && t != pending || t.Kind.Aggregates() && !castable(t) {
			c.errorf(x.Position(), "%s cannot be a key", describe(t))
			return false
		}
		list = append(list, x)
		fields[i].Type = t
	}
	if len(list) == 1 {
		t = fields[0].Type
	} else {
		t = &types.Type{Kind: types.Tuple, Fields: fields}
		for _, f := range fields {
			if f.Type == pending {
				return !c.final
			}
		}
	}
	if castable(t) {
		t = types.Integer(8, t.Signed)
	}
	if !c.widenKey(m, t) {
		c.errorf(pos, "the key of %s is %s, not %s", m.Name, describe(settle(m.key)), describe(settle(t)))
		return false
	}
	if m.key == pending {
		return true
	}
	key := settle(m.key)
	switch {
	case key.Kind == types.Tuple && len(list) == 1:
		e.Whole = c.convertTo(list[0], key)
	case key.Kind == types.Tuple:
		for i, x := range list {
			e.Keys = append(e.Keys, c.convertTo(x, key.Fields[i].Type))
		}
	default:
		e.Keys = []Expr{c.convertTo(list[0], key)}
	}
	return true
}

// aggregation returns the kind of value that the function name keeps in a map, or types.None.
func aggregation(name string) types.Kind {
	for i, known := range aggregationNames() {
		if known == name {
			return types.Count + types.Kind(i)
		}
	}
	return types.None
}

// aggregationNames returns the aggregating functions, in the order of their kinds.
func aggregationNames() []string {
	return []string{"count", "sum", "min", "max", "avg", "stats", "hist", "lhist", "tseries"}
}

// aggregate checks @x = count() and the like.
func (c *checker) aggregate(pos syntax.Pos, left *syntax.Map, call *syntax.Call, kind types.Kind) Stmt {
	e := c.element(left)
	if e == nil {
		return nil
	}
	m := e.Map
	least, most := 1, 1
	switch kind {
	case types.Count:
		least, most = 0, 0
	case types.Hist:
		most = 2
	case types.LHist:
		least, most = 4, 4
	case types.TSeries:
		least, most = 3, 4
	}
	if !c.arity(call, least, most) {
		return nil
	}
	t := &types.Type{Kind: kind, Size: 8}
	var x Expr
	if kind != types.Count {
		x = c.value(call.Args[0])
		u := x.Type()
		if !known(u) {
			return nil
		}
		if u.Kind != types.Int && !castable(u) && u.Kind != types.Bool && !(u.Kind == types.Pointer && c.opts.Dialect == V017) {
			c.errorf(x.Position(), "%s() takes an integer, not %s", call.Func, describe(u))
			return nil
		}
		t.Signed = u.Signed && !flexible(u) || flexible(u)
		x = c.convertTo(x, types.Integer(8, t.Signed))
	}
	if m.value != pending && m.value.Kind != kind {
		c.errorf(pos, "%s holds %s, not %s", m.Name, describe(m.value), describe(t))
		return nil
	}
	if m.value == pending || t.Signed && !m.value.Signed {
		m.value = t
		c.changed = true
	}
	e.T = m.value
	c.shape(m, call)
	return &Aggregate{call.Pos, e, x}
}

// shape stores the constant arguments of hist, lhist and tseries. All calls for one map must have
// the same ones.
func (c *checker) shape(m *Map, call *syntax.Call) {
	var n [3]int64
	agg := ""
	for i, a := range call.Args {
		if i == 0 {
			continue
		}
		x := c.value(a)
		k, ok := constant(x)
		switch {
		case !ok:
			if known(x.Type()) {
				c.errorf(a.Position(), "argument %d of %s() is a constant", i+1, call.Func)
			}
			return
		case i <= 3 && x.Type().Kind == types.Int:
			n[i-1] = int64(k.N)
		case i == 3 && call.Func == "tseries" && x.Type().Kind == types.String:
			agg = k.S
		default:
			c.errorf(a.Position(), "argument %d of %s() cannot be %s", i+1, call.Func, describe(x.Type()))
			return
		}
	}
	old := m.Spec
	switch call.Func {
	case "hist":
		if n[0] < 0 || n[0] > 5 {
			c.errorf(call.Pos, "the second argument of hist() is a number from 0 to 5, not %d", n[0])
		}
		m.Scale = histogram.Log2Split(int(n[0]))
	case "lhist":
		min, max, step := n[0], n[1], n[2]
		switch {
		case step <= 0:
			c.errorf(call.Pos, "lhist() takes a step above 0, not %d", step)
		case min >= max:
			c.errorf(call.Pos, "lhist() takes a minimum (%d) below the maximum (%d)", min, max)
		case max-min < 0 || (max-min)/step > 1000:
			c.errorf(call.Pos, "lhist() has at most 1000 buckets, not %d", uint64(max-min)/uint64(step))
		default:
			m.Scale, m.Max = histogram.Steps(min, step, int((max-min)/step)), max
		}
	case "tseries":
		m.Interval, m.Spec.Count, m.Agg, m.Series = uint64(n[0]), int(n[1]), agg, types.Integer(8, m.value.Signed)
		switch {
		case n[0] <= 0:
			c.errorf(call.Pos, "tseries() takes an interval above 0 ns, such as 10s")
		case n[1] < 1 || n[1] > 1_000_000:
			c.errorf(call.Pos, "tseries() keeps from 1 to 1000000 intervals, not %d", n[1])
		case !contains([]string{"", "avg", "max", "min", "sum"}, agg):
			c.hintf(call.Pos, `"avg", "max", "min" or "sum"`, "tseries() knows no aggregation %q", agg)
		}
	default:
		return
	}
	if m.shape == nil {
		pos := call.Pos
		m.shape = &pos
	} else if m.Scale != old.Scale || m.Max != old.Max ||
		m.Interval != old.Interval || m.Spec.Count != old.Count || m.Agg != old.Agg {
		c.errorf(call.Pos, "%s() of %s has other numbers in line %d", call.Func, m.Name, m.shape.Line)
	}
}
