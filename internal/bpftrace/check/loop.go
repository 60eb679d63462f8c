package check

import (
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

func (c *checker) loopBody(b *syntax.Block) *Block {
	c.loops++
	defer func() { c.loops-- }()
	return c.block(b)
}

func (c *checker) forMap(s *syntax.ForMap) Stmt {
	m := c.mapNamed(s.Map)
	if len(s.Map.Keys) > 0 {
		c.errorf(s.Map.Pos, "a loop goes over a whole map, not over an element")
	}
	if m.scalar {
		c.errorf(s.Map.Pos, "%s has no keys to go over", m.Name)
	}
	c.push()
	defer c.pop()
	v := c.declare(s, s.Var)
	v.loop, v.sets = true, 2
	if known(m.key) && known(m.value) {
		value := settle(m.value)
		if value.Kind.Aggregates() && !castable(value) && value.Kind != types.Stats {
			c.errorf(s.Map.Pos, "a loop cannot go over %s", describe(value))
		}
		t := &types.Type{Kind: types.Tuple, Fields: []types.Field{{Type: settle(m.key)}, {Type: value}}}
		if !equal(v.typ, t) {
			v.typ = t
			c.changed = true
		}
		v.Type = t
	}
	return &ForMap{s.Pos, v.Var, m, c.loopBody(s.Body)}
}

func (c *checker) forRange(s *syntax.ForRange) Stmt {
	first, end := c.value(s.First), c.value(s.End)
	t := promote(first.Type(), end.Type())
	if known(first.Type()) && known(end.Type()) && (first.Type().Kind != types.Int || end.Type().Kind != types.Int) {
		c.errorf(s.Pos, "a range goes from an integer to an integer, not from %s to %s", describe(first.Type()), describe(end.Type()))
		t = types.Int64
	}
	c.push()
	defer c.pop()
	v := c.declare(s, s.Var)
	v.loop, v.sets = true, 2
	if t != nil && known(t) {
		c.widen(v, t)
	}
	return &ForRange{s.Pos, v.Var, c.convertTo(first, v.Type), c.convertTo(end, v.Type), c.loopBody(s.Body)}
}

func (c *checker) unroll(s *syntax.Unroll) Stmt {
	x := c.value(s.Count)
	k, ok := constant(x)
	if !ok || x.Type().Kind != types.Int || int64(k.N) < 1 || int64(k.N) > maxUnroll {
		switch {
		case !known(x.Type()):
		case ok && x.Type().Kind == types.Int && int64(k.N) < 1:
			c.errorf(s.Count.Position(), "unroll minimum value is 1")
		case ok && x.Type().Kind == types.Int:
			c.errorf(s.Count.Position(), "unroll maximum value is %d", maxUnroll)
		default:
			c.errorf(s.Count.Position(), "unroll takes a constant from 1 to %d", maxUnroll)
		}
		return nil
	}
	return &Unroll{s.Pos, int(k.N), c.loopBody(s.Body)}
}
