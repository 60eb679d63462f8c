package plan

import (
	"slices"

	"github.com/ringtap/ringtap/internal/script/check"
	"github.com/ringtap/ringtap/internal/script/syntax"
	"github.com/ringtap/ringtap/internal/script/types"
)

// Commutes tells whether a program comes to the same result in whatever order it sees its
// hits: its clauses at events only aggregate, and nothing looks at the maps meanwhile.
func Commutes(prog *check.Program) bool {
	for _, clause := range prog.Clauses {
		for _, point := range clause.Points {
			switch point.Provider {
			case "interval", "self", "test", "bench", "iter":
				return false
			}
		}
	}
	return Aggregates(prog)
}

// Aggregates reports whether hits may come in any order from one look at the maps to the
// next: clauses at events only aggregate.
func Aggregates(prog *check.Program) bool {
	if prog.Config.MaxMapKeys > 0 {
		return false // the first keys stay
	}
	for _, m := range prog.Maps {
		if m.MaxKeys > 0 {
			return false
		}
	}
	for _, clause := range prog.Clauses {
		hit := false
		for _, point := range clause.Points {
			switch point.Provider {
			case "begin", "end", "interval", "self", "test", "bench", "iter":
			default:
				hit = true
			}
		}
		if hit && !(pure(clause.Predicate) && aggregates(clause.Body)) {
			return false
		}
	}
	return true
}

// aggregates tells whether a statement does nothing but add to aggregations.
func aggregates(s syntax.Node) bool {
	switch s := s.(type) {
	case *check.Block:
		for _, inner := range s.Stmts {
			if !aggregates(inner) {
				return false
			}
		}
		return true
	case *check.If:
		return pure(s.C) && aggregates(s.Then) && (s.Else == nil || aggregates(s.Else))
	case *check.SetVar:
		return pure(s.X)
	case *check.Aggregate:
		if s.Elem.Map.Value.Kind == types.TSeries || !pure(s.X) || !pure(s.Elem.Whole) {
			return false
		}
		for _, key := range s.Elem.Keys {
			if !pure(key) {
				return false
			}
		}
		return true
	}
	return false
}

// pure tells whether an expression has a value of the hit and of the clause's own variables,
// and does nothing. There may be none.
func pure(e check.Expr) bool {
	if e == nil {
		return true
	}
	ok := true
	check.Walk(e, func(e check.Expr) { ok = ok && plain(e) })
	return ok
}

// plain tells whether an expression, but for those in it, has a value of the hit and of variables,
// and does nothing. The name of the function that was hit is one.
func plain(e check.Expr) bool {
	switch e := e.(type) {
	case *check.Call:
		if e.Func != "ksym" && e.Func != "usym" {
			return false
		}
		of, ok := e.Args[0].(*check.FromHit)
		return ok && (of.T.Kind == types.KSym || of.T.Kind == types.USym)
	case *check.Const, *check.Local, *check.Header, *check.FromHit, *check.Unary, *check.Binary, *check.Cond,
		*check.Convert, *check.MakeTuple, *check.Member:
		return true
	}
	return false
}

// Bare tells whether the clauses of an event take from a hit only what its record has: no
// names, no processes, no stacks.
func (e *Event) Bare(prog *check.Program) bool {
	for _, use := range e.Uses {
		for _, field := range use.Fields {
			if field.From != Record {
				return false
			}
		}
		if !asksOnly(prog.Clauses[use.Clause], "probe", "ncpus", "cpid", "pid", "tid", "cpu", "nsecs", "elapsed", "rand") {
			return false
		}
	}
	return true
}

// Repeats returns the fields of an event's record that tell all that its clauses do at a hit,
// with the name of the thread if comm: two hits with the same values are the same hit twice.
// ok is false where there are no such fields, or where a clause does something twice in another
// way than once.
func (e *Event) Repeats(prog *check.Program) (fields []string, comm, ok bool) {
	if e.Place != Tracepoint {
		return nil, false, false
	}
	known := make(map[string]bool)
	for _, use := range e.Uses {
		clause := prog.Clauses[use.Clause]
		for i, field := range use.Fields {
			of := clause.Sources[i]
			if field.From != Record || of.Form != check.Plain || of.Type.Kind != types.Int {
				return nil, false, false
			}
			if !known[field.Name] {
				known[field.Name] = true
				fields = append(fields, field.Name)
			}
		}
		if !asksOnly(clause, "probe", "ncpus", "cpid", "comm") || !multiplies(clause.Body) {
			return nil, false, false
		}
		comm = comm || !asksOnly(clause, "probe", "ncpus", "cpid")
	}
	return fields, comm, true
}

// Placed tells whether the place of a hit of a kernel function tells all that the clauses of its
// event do, which is then the same for any number of hits between two looks at the maps.
func (e *Event) Placed(prog *check.Program) bool {
	if e.Place != Kernel || len(e.Uses) == 0 || len(e.Fetch) > 0 || e.Entry != nil || e.KernelStack || e.UserStack ||
		len(e.Pieces) > 0 || len(e.Keeps) > 0 || len(e.Kept) > 0 || e.Reads || !Aggregates(prog) || startsCommands(prog) {
		return false
	}
	for _, use := range e.Uses {
		clause := prog.Clauses[use.Clause]
		other := func(f Field) bool { return f.From != Function }
		if slices.ContainsFunc(use.Fields, other) || !asksOnly(clause, "probe", "ncpus", "cpid") || !multiplies(clause.Body) {
			return false
		}
	}
	return true
}

// startsCommands tells whether a program starts others. They would be taken for ringtap itself
// where hits have no samples.
func startsCommands(prog *check.Program) bool {
	starts := false
	look := func(e check.Expr) {
		call, ok := e.(*check.Call)
		starts = starts || ok && call.Func == "system"
	}
	for _, clause := range prog.Clauses {
		check.Walk(clause.Body, look)
	}
	for _, function := range prog.Functions {
		check.Walk(function.Body, look)
	}
	return starts
}

// asksOnly tells whether of the values that every hit has a clause asks for none but these.
func asksOnly(clause *check.Clause, names ...string) bool {
	only := true
	look := func(e check.Expr) {
		if h, ok := e.(*check.Header); ok && !slices.Contains(names, h.Name) {
			only = false
		}
	}
	if clause.Predicate != nil {
		check.Walk(clause.Predicate, look)
	}
	check.Walk(clause.Body, look)
	return only
}

// multiplies tells whether a statement that aggregates has aggregations only of which eval does
// many at once.
func multiplies(s syntax.Node) bool {
	switch s := s.(type) {
	case *check.Block:
		for _, inner := range s.Stmts {
			if !multiplies(inner) {
				return false
			}
		}
	case *check.If:
		return multiplies(s.Then) && (s.Else == nil || multiplies(s.Else))
	case *check.Aggregate:
		switch s.Elem.Map.Value.Kind {
		case types.Count, types.Sum, types.Min, types.Max:
		default:
			return false
		}
	}
	return true
}
