package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/script/check"
	"github.com/ringtap/ringtap/internal/script/syntax"
	"github.com/ringtap/ringtap/internal/script/types"
)

// A Piece is memory that the record of a hit has, and that is kept for reads of later hits.
type Piece struct {
	Base   string // the field of the record that has an address
	Offset int    // from there to the memory
	Field  string // of the record, with the memory; "" is the text of a system call's parameter
	Text   bool   // it is a text
	Const  bool   // nobody changes it while the call lasts
}

// A Keep is a field with an address that goes to a map, of the record of a user probe or a system call.
type Keep struct {
	Slot  int // of the map, from 1
	Field string
}

// Kept is memory at an address out of a map.
type Kept struct {
	Slot int
	Size int // bytes from the address on, at most
}

// A Read is a read of memory at an address that a clause takes from a map, or computes.
type Read struct {
	syntax.Pos
	Way string // for -v
}

// The ways of a Read.
const (
	wayKept    = "what %s found there when it kept the address"
	wayHit     = "the kernel at the hit, up to 512 bytes; what lies beyond, the process while the thread stands still, or a moment later, marked ~"
	wayChanged = wayKept + ", marked ~: it may have changed"
	wayNear    = "the copy of the stack, or the process while the thread stands still; a moment later where that is too late, marked ~"
	wayLate    = "the copy of the stack, or the process a moment after the hit, marked ~; not the kernel's memory"
)

// pointer is an address that a clause computes from an element of a map.
type pointer struct {
	of    *check.Map
	steps []check.Step
}

// plus returns the address n bytes further.
func (q *pointer) plus(n int) *pointer {
	steps := slices.Clone(q.steps)
	if last := len(steps) - 1; last >= 0 && !steps[last].Deref {
		steps[last].Offset += n
	} else {
		steps = append(steps, check.Step{Offset: n})
	}
	return &pointer{q.of, steps}
}

// assigned has the values of variables that are set once. A variable that moves on from its first value has
// that value plus an unknown distance.
type assigned map[*check.Var]check.Expr

// assignments returns those of a clause.
func assignments(c *check.Clause) assigned {
	all := assigned{}
	for v, values := range given(c) {
		if len(values) == 1 && !isMove(v, values[0]) {
			all[v] = values[0]
		} else {
			all[v] = movedOn(v, values)
		}
	}
	return all
}

// given returns all values that a clause gives each of its variables, nil for a declaration without one.
// $x++ gives $x + 1.
func given(c *check.Clause) map[*check.Var][]check.Expr {
	all := map[*check.Var][]check.Expr{}
	set := func(s check.Stmt) {
		if s, ok := s.(*check.SetVar); ok {
			all[s.Var] = append(all[s.Var], s.X)
		}
	}
	check.Statements(c.Body, set)
	check.Walk(c.Body, func(e check.Expr) {
		switch e := e.(type) {
		case *check.BlockExpr:
			check.Statements(e.Body, set)
		case *check.Increment:
			if local, ok := e.Target.(*check.Local); ok {
				by := &check.Const{Typed: e.Typed, N: uint64(e.By)}
				all[local.Var] = append(all[local.Var], &check.Binary{Typed: e.Typed, Op: "+", X: local, Y: by})
			}
		}
	})
	return all
}

// movedOn returns the value of a variable that a clause sets once and then only moves up, as a loop over the
// elements of an array does; nil if it changes in another way.
func movedOn(v *check.Var, values []check.Expr) check.Expr {
	var first check.Expr
	for _, x := range values {
		if isMove(v, x) {
			continue
		}
		if x == nil || first != nil {
			return nil
		}
		first = x
	}
	if first == nil {
		return nil
	}
	typed := check.Typed{Pos: first.Position(), T: v.Type}
	return &check.Binary{Typed: typed, Op: "+", X: first, Y: &check.Local{Typed: typed, Var: v}}
}

// isMove reports whether a value of v is v plus something that is not a negative constant.
func isMove(v *check.Var, x check.Expr) bool {
	switch x := x.(type) {
	case *check.Convert:
		return isMove(v, x.X)
	case *check.Binary:
		local, ok := x.X.(*check.Local)
		k, isConst := x.Y.(*check.Const)
		return ok && local.Var == v && x.Op == "+" && !(isConst && int64(k.N) < 0)
	}
	return false
}

// pointer returns how an address comes from a map, nil if it doesn't or nothing tells.
func (a assigned) pointer(e check.Expr) *pointer {
	switch e := e.(type) {
	case *check.Element:
		return &pointer{of: e.Map}
	case *check.Local:
		if x := a[e.Var]; x != nil {
			return a.pointer(x)
		}
	case *check.Member: // any element will do: what is there is found by its address
		if from := a.pointer(e.X); from != nil && len(from.steps) == 0 {
			return from
		}
	case *check.Convert:
		if isAddress(e.T) && isAddress(e.X.Type()) {
			return a.pointer(e.X)
		}
	case *check.Binary:
		k, ok := e.Y.(*check.Const)
		from := a.pointer(e.X)
		switch {
		case !ok || from == nil:
		case e.Op == "+":
			return from.plus(int(k.N))
		case e.Op == "-":
			return from.plus(-int(k.N))
		}
	case *check.Load:
		if from := a.pointer(e.Addr); from != nil && isAddress(e.T) {
			from = from.plus(0)
			from.steps[len(from.steps)-1].Deref = true
			return from
		}
	}
	return nil
}

// sources calls f for the sources of the clause that a value is, or is a tuple of.
func (a assigned) sources(e check.Expr, f func(source int)) {
	switch e := e.(type) {
	case *check.FromHit:
		f(e.Source)
	case *check.Local:
		if x := a[e.Var]; x != nil {
			a.sources(x, f)
		}
	case *check.Convert:
		a.sources(e.X, f)
	case *check.MakeTuple:
		for _, x := range e.Elems {
			a.sources(x, f)
		}
	}
}

// isAddress tells whether a value of a type may be an address.
func isAddress(t *types.Type) bool {
	return t.Kind == types.Pointer || t.Kind == types.Int && t.Size == 8
}

// store is a source that a clause keeps in a map.
type store struct{ clause, source int }

// stores returns what sources are kept in maps.
func stores(prog *check.Program) map[*check.Map][]store {
	all := map[*check.Map][]store{}
	for i, c := range prog.Clauses {
		from := assignments(c)
		check.Statements(c.Body, func(s check.Stmt) {
			set, ok := s.(*check.SetMap)
			if !ok {
				return
			}
			of := set.Elem.Map
			from.sources(set.X, func(source int) { all[of] = append(all[of], store{i, source}) })
		})
	}
	return all
}

// memoryRead is what a clause reads at a pointer.
type memoryRead struct {
	pos  syntax.Pos
	addr check.Expr
	from *pointer // nil if nothing tells where the address comes from
	what check.Source
}

// memoryReads returns what a clause reads at addresses that only the running program knows.
func memoryReads(c *check.Clause) []memoryRead {
	var reads []memoryRead
	from := assignments(c)
	look := func(e check.Expr) {
		switch e := e.(type) {
		case *check.Read:
			what := check.Source{Form: e.Form, Type: e.T, Size: e.T.Size, User: e.User}
			reads = append(reads, memoryRead{e.Pos, e.Addr, from.pointer(e.Addr), what})
		case *check.Load:
			reads = append(reads, memoryRead{e.Pos, e.Addr, from.pointer(e.Addr), check.Source{Type: e.T, User: e.User}})
		}
	}
	if c.Predicate != nil {
		check.Walk(c.Predicate, look)
	}
	check.Walk(c.Body, look)
	return reads
}

// followPointers finds, for all reads at addresses that only the running program knows, what of
// it the probes that keep the addresses in maps can take along.
func (p *planner) followPointers(prog *check.Program) {
	kept := stores(prog)
	for i, c := range prog.Clauses {
		var reads []Read
		now := false
		values := assignments(c)
		for _, r := range memoryReads(c) {
			var from []store
			if r.from != nil {
				from = kept[r.from.of]
			} else {
				for _, m := range prog.Maps {
					from = append(from, kept[m]...)
				}
			}
			way, exact := p.take(prog, &r, from)
			if whole, ok := p.atHit(c, i, values, &r); ok {
				way, exact = wayHit, whole
			} else if !exact && p.walk(c, i, values, &r) {
				way = wayNear
			}
			if !exact && way != wayHit && p.keep(prog, i, &r, from) {
				way = wayNear
			}
			now = now || !exact
			reads = append(reads, Read{r.pos, way})
		}
		p.eachUse(i, func(e *Event, u *Use) {
			u.Reads = reads
			e.Reads = e.Reads || now
		})
	}
}

// eachUse calls f for all uses of a clause.
func (p *planner) eachUse(clause int, f func(*Event, *Use)) {
	for _, e := range p.events {
		for i := range e.Uses {
			if e.Uses[i].Clause == clause {
				f(e, &e.Uses[i])
			}
		}
	}
}

// take has the stores of an address take along what is read there, where that is right or where
// nothing else is possible, and says what the way is.
func (p *planner) take(prog *check.Program, r *memoryRead, from []store) (way string, exact bool) {
	way = wayLate
	for _, s := range from {
		p.eachUse(s.clause, func(e *Event, u *Use) {
			p.point = u.Point
			piece, ok := p.piece(e, prog.Clauses[s.clause].Sources[s.source], u.Fields[s.source], r)
			if !ok {
				return
			}
			if !slices.Contains(e.Pieces, piece) {
				e.Pieces = append(e.Pieces, piece)
			}
			format := wayChanged
			if piece.Const {
				format, exact = wayKept, true
			}
			way = fmt.Sprintf(format, u.Point.Text)
		})
	}
	return way, exact
}

// keeps tells whether an event can keep a source for a helper that reads memory at another event of
// the thread: an argument of a program's function, or a parameter of a system call.
func (e *Event) keeps(s *check.Source) bool {
	switch {
	case len(s.Path) > 0 || s.Form != check.Plain:
		return false
	case e.Place == User:
		return s.Root == check.ArgRoot
	}
	return e.ofCall() && s.Root == check.FieldRoot && s.Type.Kind == types.Pointer
}

// ofCall tells whether an event is a tracepoint of system calls: the process's memory is there.
func (e *Event) ofCall() bool {
	return e.Place == Tracepoint && strings.HasPrefix(e.Definition, "syscalls:")
}

// keep has events keep the addresses that a clause at another one reads at. It returns false where
// they can't.
func (p *planner) keep(prog *check.Program, clause int, r *memoryRead, from []store) bool {
	if r.from == nil || r.what.Form == check.Vector {
		return false
	}
	offset := 0
	for _, step := range r.from.steps {
		if offset += step.Offset; step.Deref || offset < 0 {
			return false
		}
	}
	slot, found := 1+slices.Index(prog.Maps, r.from.of), false
	for _, s := range from {
		source := prog.Clauses[s.clause].Sources[s.source]
		p.eachUse(s.clause, func(e *Event, u *Use) {
			k := Keep{slot, u.Fields[s.source].Name}
			if !e.keeps(source) {
				return
			}
			if !slices.Contains(e.Keeps, k) {
				e.Keeps = append(e.Keeps, k)
			}
			found = true
		})
	}
	if !found {
		return false
	}
	size := offset + max(r.what.Size, r.what.Type.Size)
	p.eachUse(clause, func(e *Event, u *Use) {
		i := slices.IndexFunc(e.Kept, func(k Kept) bool { return k.Slot == slot })
		switch {
		case e.Place != User && !e.ofCall():
		case i >= 0:
			e.Kept[i].Size = max(e.Kept[i].Size, size)
		default:
			e.Kept = append(e.Kept, Kept{slot, size})
		}
	})
	return true
}

// piece is what an event can take along of what is read behind one of its sources.
func (p *planner) piece(e *Event, s *check.Source, f Field, r *memoryRead) (Piece, bool) {
	var steps []check.Step
	if r.from != nil {
		steps = r.from.steps
	}
	direct := len(steps) == 0 || len(steps) == 1 && steps[0] == check.Step{}
	name := direct && r.what.Form == check.Text && p.isName(s)
	switch {
	case f.From != Record || s.Form != check.Plain || !isAddress(s.Type):
		return Piece{}, false
	case e.Place == Tracepoint:
		text := direct && r.what.Form == check.Text && s.Type.Kind == types.Pointer && s.Type.User &&
			p.host.Text(p.point, s.Name)
		return Piece{Base: f.Name, Text: true, Const: true}, text
	case name, e.Place == Kernel && r.from != nil && !s.Type.User:
		return p.fetched(e, s, steps, r.what, name)
	}
	return Piece{}, false
}

// fetched is a piece that an event fetches behind a source.
func (p *planner) fetched(e *Event, s *check.Source, steps []check.Step, what check.Source, constant bool) (Piece, bool) {
	base := s.Path
	if len(base) > 0 { // the source is what lies at the end of its path
		base = dereferenced(base)
	}
	piece := Piece{Text: what.Form == check.Text, Const: constant}
	last := slices.IndexFunc(steps, func(s check.Step) bool { return !s.Deref })
	if last >= 0 {
		piece.Offset = steps[last].Offset
		steps = steps[:last]
	}
	// The address before the last offset is a field of its own: reads are found by it.
	pointed := *s
	if len(steps) > 0 {
		pointed.Path = append(slices.Clone(base), steps...)
		pointed.Path[len(pointed.Path)-1].Deref = false
	}
	pointed.Type = types.Uint64
	memory := what
	memory.Root, memory.N, memory.Name, memory.Address, memory.User = s.Root, s.N, s.Name, s.Address, s.User
	memory.Path = append(append(slices.Clone(base), steps...), check.Step{Offset: piece.Offset})
	errs := len(p.errs)
	address, ok := p.argument(e, &pointed)
	text, fits := p.argument(e, &memory)
	p.errs = p.errs[:errs] // what does not fit is not taken along
	if !ok || !fits {
		return Piece{}, false
	}
	piece.Base, piece.Field = e.fetch(address), e.fetch(text)
	return piece, true
}

// dereferenced is a path to what the value at the end of another points to.
func dereferenced(path []check.Step) []check.Step {
	path = slices.Clone(path)
	path[len(path)-1].Deref = true
	return path
}
