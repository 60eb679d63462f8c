package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// A Piece is memory that is copied into the record of a hit, for reads at this hit or a later one.
type Piece struct {
	Base   string // the field of the record with the address
	Offset int    // from that address to the memory
	Field  string // the field with the memory; "" for the text of a system call's parameter
	Text   bool   // the memory is a string
	Const  bool   // the memory does not change during the call
}

// A Keep is a field of a user probe's or system call's record that has an address. A clause stores
// the address in a map.
type Keep struct {
	Slot  int // of the map, from 1
	Field string
}

// Kept is memory at an address that clauses take from a map: see Event.Keeps.
type Kept struct {
	Slot int
	Size int // at most this many bytes from the address on
}

// A Read is a read of memory at an address that a clause takes from a map or computes.
type Read struct {
	syntax.Pos
	Way string // how the memory is read, for -v
}

// The values of Read.Way.
const (
	wayKept    = "what %s found there when it kept the address"
	wayHit     = "the kernel at the hit, up to 512 bytes; what lies beyond, the process while the thread stands still, or a moment later, marked ~"
	wayChanged = wayKept + ", marked ~: it may have changed"
	wayNear    = "the copy of the stack, or the process while the thread stands still; a moment later where that is too late, marked ~"
	wayLate    = "the copy of the stack, or the process a moment after the hit, marked ~; not the kernel's memory"
)

// pointer is an address that a clause computes from a map element.
type pointer struct {
	of    *check.Map
	steps []check.Step
}

// plus returns the address n bytes later.
func (q *pointer) plus(n int) *pointer {
	steps := slices.Clone(q.steps)
	if last := len(steps) - 1; last >= 0 && !steps[last].Deref {
		steps[last].Offset += n
	} else {
		steps = append(steps, check.Step{Offset: n})
	}
	return &pointer{q.of, steps}
}

// assigned maps each variable that a clause sets only once to its value. If the clause then only
// increases the variable, the value is the first one plus an unknown distance. Other variables have
// nil.
type assigned map[*check.Var]check.Expr

// assignments returns the assigned variables of a clause.
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

// given returns all values that a clause assigns to each of its variables. A declaration without a
// value gives nil, and $x++ gives $x + 1.
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

// movedOn returns the value of a variable that is set once and then only moves up, as in a loop
// over an array. It returns nil if the variable changes in another way.
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

// isMove reports whether x is v plus something that is not a negative constant.
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

// pointer returns how the address e is computed from a map element. It returns nil if e does not
// come from a map, or if that is unknown.
func (a assigned) pointer(e check.Expr) *pointer {
	switch e := e.(type) {
	case *check.Element:
		return &pointer{of: e.Map}
	case *check.Local:
		if x := a[e.Var]; x != nil {
			return a.pointer(x)
		}
	case *check.Member: // which element of the tuple does not matter: reads find the piece by its address
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

// sources calls f for each source of the clause that e is, or that is in the tuple e.
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

// isAddress reports whether values of type t can be addresses.
func isAddress(t *types.Type) bool {
	return t.Kind == types.Pointer || t.Kind == types.Int && t.Size == 8
}

// store is a source that a clause stores in a map.
type store struct{ clause, source int }

// stores returns the sources that are stored in each map.
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

// memoryRead is a read at a pointer in a clause.
type memoryRead struct {
	pos  syntax.Pos
	addr check.Expr
	from *pointer // nil if it is unknown where the address comes from
	what check.Source
}

// memoryReads returns the reads of a clause at addresses that are known only at run time.
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

// followPointers plans how to serve each read at an address that is known only at run time. The
// memory can be copied at the hit, when the address is stored, or by the helper.
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

// eachUse calls f for every use of a clause.
func (p *planner) eachUse(clause int, f func(*Event, *Use)) {
	for _, e := range p.events {
		for i := range e.Uses {
			if e.Uses[i].Clause == clause {
				f(e, &e.Uses[i])
			}
		}
	}
}

// take makes the events that store an address also copy the memory that is read there later. It
// returns a text for Read.Way. exact says that the memory cannot have changed in between.
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

// keeps reports whether the event can keep the address s, so that the helper reads memory there at a
// later hit of the thread. s must be an argument of a user function or a parameter of a system call.
func (e *Event) keeps(s *check.Source) bool {
	switch {
	case len(s.Path) > 0 || s.Form != check.Plain:
		return false
	case e.Place == User:
		return s.Root == check.ArgRoot
	}
	return e.ofCall() && s.Root == check.FieldRoot && s.Type.Kind == types.Pointer
}

// ofCall reports whether an event is a system call tracepoint, at which the process's memory is
// readable.
func (e *Event) ofCall() bool {
	return e.Place == Tracepoint && strings.HasPrefix(e.Definition, "syscalls:")
}

// keep makes the events that store an address of the read r keep it for the helper, and makes the
// events of the clause read it. It returns false if no event can keep one.
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

// piece returns the memory that e can copy for the later read r. The source s, with the field f, is
// the address that a clause stores at e.
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

// fetched returns the piece of memory that e fetches for target, at the end of steps from s. It
// returns false if it cannot be fetched.
func (p *planner) fetched(e *Event, s *check.Source, steps []check.Step, target check.Source, constant bool) (Piece, bool) {
	base := s.Path
	if len(base) > 0 { // the source is the value at the end of its path
		base = dereferenced(base)
	}
	piece := Piece{Text: target.Form == check.Text, Const: constant}
	last := slices.IndexFunc(steps, func(s check.Step) bool { return !s.Deref })
	if last >= 0 {
		piece.Offset = steps[last].Offset
		steps = steps[:last]
	}
	// pointed is the address to which piece.Offset is added. It gets its own field in the record,
	// piece.Base, so that reads can compare the piece's address with theirs.
	pointed := *s
	if len(steps) > 0 {
		pointed.Path = append(slices.Clone(base), steps...)
		pointed.Path[len(pointed.Path)-1].Deref = false
	}
	pointed.Type = types.Uint64
	memory := target
	memory.Root, memory.N, memory.Name, memory.Address, memory.User = s.Root, s.N, s.Name, s.Address, s.User
	memory.Path = append(append(slices.Clone(base), steps...), check.Step{Offset: piece.Offset})
	errs := len(p.errs)
	address, ok := p.argument(e, &pointed)
	text, fits := p.argument(e, &memory)
	p.errs = p.errs[:errs] // memory that cannot be fetched is left out
	if !ok || !fits {
		return Piece{}, false
	}
	piece.Base, piece.Field = e.fetch(address), e.fetch(text)
	return piece, true
}

// dereferenced returns the path to the memory that the value at the end of path points to.
func dereferenced(path []check.Step) []check.Step {
	path = slices.Clone(path)
	path[len(path)-1].Deref = true
	return path
}
