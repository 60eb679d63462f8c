package plan

import (
	"slices"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/syntax"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// Commutes reports whether the order of hits cannot change the result of a program. Its clauses at
// events only aggregate, and no other clause reads the maps before the end.
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

// Aggregates reports whether the order of hits matters only relative to reads of the maps. Its
// clauses at events only aggregate.
func Aggregates(prog *check.Program) bool {
	if prog.Config.MaxMapKeys > 0 {
		return false // which keys a full map has depends on the order
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

// aggregates reports whether a statement only adds to aggregations.
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

// pure reports whether e depends only on the hit and the clause's own variables, and evaluating it
// has no effect. A nil e is pure.
func pure(e check.Expr) bool {
	if e == nil {
		return true
	}
	ok := true
	check.Walk(e, func(e check.Expr) { ok = ok && plain(e) })
	return ok
}

// plain reports whether e is pure, apart from its operands. The only calls that are plain are those
// that return the name of the function that was hit.
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

// Bare reports whether the clauses of an event need only the record of a hit: no names, processes
// or stacks.
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

// Repeats returns the fields of the record that determine everything that the clauses of an event
// do at a hit. If comm is set, the thread's name is needed too. Hits with equal values can then be
// counted and applied in one step. ok is false if the record does not determine everything, or if a
// clause cannot apply n equal hits in one step.
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

// Placed reports whether the probed kernel function alone determines what the clauses do at a hit.
// Between two reads of the maps, n hits of a function can then be applied in one step.
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

// startsCommands reports whether a program calls system(). Without samples, hits of the commands
// could not be told from ringtap's own.
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

// asksOnly reports whether a clause uses no Header values except those in names.
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

// multiplies reports whether eval can apply every aggregation in s n times in one step (count, sum,
// min, max). s only aggregates.
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
