package eval

import (
	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

func (c *compiler) block(b *check.Block) doFunc {
	list := make([]doFunc, 0, len(b.Stmts))
	for _, s := range b.Stmts {
		list = append(list, c.stmt(s))
	}
	switch len(list) {
	case 0:
		return func(*Machine) flow { return next }
	case 1:
		return list[0]
	case 2:
		a, b := list[0], list[1]
		return func(m *Machine) flow {
			if f := a(m); f != next || m.leaving {
				return f
			}
			return b(m)
		}
	}
	return func(m *Machine) flow {
		for _, s := range list {
			if f := s(m); f != next || m.leaving {
				return f
			}
		}
		return next
	}
}

func (c *compiler) stmt(s check.Stmt) doFunc {
	switch s := s.(type) {
	case *check.Do:
		if call, ok := s.X.(*check.Call); ok && call.Func == "delete" && !s.Dropped && c.m.opts.Deletes {
			return c.delete(call)
		}
		return c.do(s.X)
	case *check.SetVar:
		return c.setVar(s)
	case *check.SetMap:
		return c.setMap(s)
	case *check.Aggregate:
		return c.aggregate(s)
	case *check.If:
		return c.ifStmt(s)
	case *check.While:
		return c.while(s)
	case *check.ForMap:
		return c.forMap(s)
	case *check.ForRange:
		return c.forRange(s)
	case *check.Unroll:
		body, n, pos := c.block(s.Body), s.Count, s.Pos
		return func(m *Machine) flow {
			for range n {
				if !m.step(pos) {
					return next
				}
				if f := body(m); f == breakLoop {
					return next
				} else if f == leave {
					return leave
				}
			}
			return next
		}
	case *check.Jump:
		return c.jump(s)
	case *check.Block:
		return c.block(s)
	}
	panic("eval: a statement that the checker does not make")
}

func (c *compiler) setVar(s *check.SetVar) doFunc {
	slot := s.Var.Slot
	switch {
	case s.X == nil:
		zero := zeroOf(s.Var.Type)
		return func(m *Machine) flow { m.vars[slot] = zero; return next }
	case numeric(s.X.Type()) && !c.late[s.Var] && !c.mayBeLate(s.X):
		f := c.int(s.X)
		return func(m *Machine) flow { m.vars[slot].N = f(m); return next }
	}
	c.late[s.Var] = c.late[s.Var] || c.mayBeLate(s.X)
	f := c.marked(s.X)
	return func(m *Machine) flow { v := f(m); m.vars[slot] = v; return next }
}

func (c *compiler) setMap(s *check.SetMap) doFunc {
	at := c.m.Maps[s.Elem.Map.Index]
	if numeric(s.X.Type()) {
		return c.stored(s.Elem, s.X, func(_ *Machine, k value.Key, n uint64) { at.Set(k, value.Value{N: n}) })
	}
	f, key, late := c.marked(s.X), c.key(s.Elem), c.mayHaveLateKey(s.Elem)
	return func(m *Machine) flow {
		v := f(m)
		k := key(m)
		at.Set(k, v)
		if late && m.lateKey {
			at.MarkKey(k)
		}
		return next
	}
}

func (c *compiler) aggregate(s *check.Aggregate) doFunc {
	at := c.m.Maps[s.Elem.Map.Index]
	if s.X == nil {
		return c.stored(s.Elem, nil, func(m *Machine, k value.Key, _ uint64) { at.AddSum(k, m.times) })
	}
	var store func(m *Machine, k value.Key, n uint64)
	switch at.Value.Kind {
	case types.Sum:
		store = func(m *Machine, k value.Key, n uint64) { at.AddSum(k, n*m.times) }
	case types.Min:
		store = func(_ *Machine, k value.Key, n uint64) { at.AddMin(k, n) }
	case types.Max:
		store = func(_ *Machine, k value.Key, n uint64) { at.AddMax(k, n) }
	case types.Avg, types.Stats:
		store = func(_ *Machine, k value.Key, n uint64) { at.AddAvg(k, n) }
	case types.Hist, types.LHist:
		store = func(_ *Machine, k value.Key, n uint64) { at.AddHist(k, int64(n)) }
	default:
		clock := c.seriesClock()
		store = func(m *Machine, k value.Key, n uint64) { at.AddSeries(k, n, clock(m)) }
	}
	return c.stored(s.Elem, s.X, store)
}

// seriesClock returns the clock of tseries(), in nanoseconds.
func (c *compiler) seriesClock() func(*Machine) uint64 {
	for _, clock := range c.m.Maps {
		if clock.Name == c.m.opts.SeriesClock && len(clock.Keys) == 0 {
			return func(*Machine) uint64 { v, _ := clock.Get(value.Key{}); return v.N }
		}
	}
	return func(m *Machine) uint64 { return uint64(m.opts.Host.Wall(m.hit.Time).UnixNano()) }
}

func (c *compiler) ifStmt(s *check.If) doFunc {
	cond, then := c.truth(s.C), c.block(s.Then)
	if s.Else == nil {
		return func(m *Machine) flow {
			if cond(m) != 0 {
				return then(m)
			}
			return next
		}
	}
	other := c.stmt(s.Else)
	return func(m *Machine) flow {
		if cond(m) != 0 {
			return then(m)
		}
		return other(m)
	}
}

func (c *compiler) while(s *check.While) doFunc {
	cond, body, pos := c.truth(s.C), c.block(s.Body), s.Pos
	return func(m *Machine) flow {
		for cond(m) != 0 && m.step(pos) {
			if f := body(m); f == breakLoop {
				return next
			} else if f == leave {
				return leave
			}
		}
		return next
	}
}

// forMap iterates over the keys that the map has when the loop starts. It skips keys that are
// deleted in the meantime.
func (c *compiler) forMap(s *check.ForMap) doFunc {
	at, slot, body, pos := c.m.Maps[s.Map.Index], s.Var.Slot, c.block(s.Body), s.Pos
	single := len(at.Keys) == 1
	return func(m *Machine) flow {
		entries := at.Entries()
		for i := range entries {
			v, ok := at.Get(entries[i].MapKey())
			if !ok {
				continue
			}
			if !m.step(pos) {
				return next
			}
			parts := entries[i].Key()
			if entries[i].IsKeyLate() {
				for j := range parts {
					if parts[j].T == nil {
						parts[j] = parts[j].Late()
					}
				}
			}
			if entries[i].IsLate() && v.T == nil {
				v = v.Late()
			}
			key := value.Value{T: parts}
			if single {
				key = parts[0]
			}
			m.vars[slot] = value.Tuple(key, v)
			if f := body(m); f == breakLoop {
				return next
			} else if f == leave {
				return leave
			}
		}
		return next
	}
}

func (c *compiler) forRange(s *check.ForRange) doFunc {
	first, end, slot, body, pos := c.int(s.First), c.int(s.End), s.Var.Slot, c.block(s.Body), s.Pos
	signed := s.Var.Type.Signed
	return func(m *Machine) flow {
		i, last := first(m), end(m)
		for ; less(i, last, signed) && m.step(pos); i++ {
			m.vars[slot].N = i
			if f := body(m); f == breakLoop {
				return next
			} else if f == leave {
				return leave
			}
		}
		return next
	}
}

func (c *compiler) jump(s *check.Jump) doFunc {
	switch s.Word {
	case "break":
		return func(*Machine) flow { return breakLoop }
	case "continue":
		return func(*Machine) flow { return continueLoop }
	}
	if s.X == nil {
		return func(*Machine) flow { return leave }
	}
	x := c.value(s.X)
	return func(m *Machine) flow { m.result = x(m); return leave }
}

// invoke compiles a call of a function of the program.
func (c *compiler) invoke(e *check.Invoke) valueFunc {
	f := c.functions[e.Function]
	if f == nil {
		f = &function{vars: len(e.Function.Vars)}
		c.functions[e.Function] = f
		c.findLate(e.Function.Body)
		f.body = c.block(e.Function.Body)
	}
	args := make([]valueFunc, len(e.Args))
	for i, a := range e.Args {
		args[i] = c.value(a)
	}
	zero, pos := zeroOf(e.T), e.Pos
	return func(m *Machine) value.Value {
		if m.depth >= maxDepth {
			m.once(pos, "functions call each other too deep")
			return zero
		}
		if !m.step(pos) {
			return zero
		}
		// The arguments may call functions too, so they are evaluated before the frame becomes
		// m.vars.
		frame := make([]value.Value, f.vars)
		for i, a := range args {
			frame[i] = a(m)
		}
		caller := m.vars
		m.vars, m.result = frame, zero
		m.depth++
		f.body(m)
		m.depth--
		m.vars = caller
		return m.result
	}
}
