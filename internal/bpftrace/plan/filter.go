package plan

import (
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// filter sets Filter and Who of each event.
func (p *planner) filter(prog *check.Program) {
	entries := make(map[*Event]bool) // entries whose records some return needs
	for _, e := range p.events {
		if e.Entry != nil {
			entries[e.Entry] = true
		}
	}
	for _, e := range p.events {
		if e.Place == Sampled || e.Entry != nil || entries[e] {
			continue // it has no fields, or every return must find its entry
		}
		any, who := never(), never()
		for i := range e.Uses {
			f := filterer{event: e, clause: prog.Clauses[e.Uses[i].Clause], fields: e.Uses[i].Fields}
			any = either(any, f.hit())
			f.who = true
			who = either(who, f.hit())
		}
		if !any.isNever() { // otherwise no clause does anything, but the hits are counted all the same
			e.Filter = any
		}
		if who.asks("pid") {
			e.Who = who
		}
	}
}

// filterer derives the condition for one clause at an event.
type filterer struct {
	event  *Event
	clause *check.Clause
	fields []Field
	who    bool // test only the process and the thread
}

// hit returns the condition under which the clause does anything.
func (f *filterer) hit() *Condition {
	body := f.statements(f.clause.Body.Stmts)
	if len(f.clause.Body.Stmts) == 0 {
		body = nil
	}
	if f.clause.Predicate == nil {
		return body
	}
	if !quiet(f.clause.Predicate) {
		return f.holds(f.clause.Predicate, false)
	}
	return all(f.holds(f.clause.Predicate, false), body)
}

// statements returns the condition under which any statement of list does anything.
func (f *filterer) statements(list []check.Stmt) *Condition {
	if len(list) == 0 {
		return never()
	}
	rest := list[1:]
	switch s := list[0].(type) {
	case *check.Jump:
		if s.Word == "return" && s.X == nil {
			return never() // and the rest is not reached
		}
	case *check.SetVar:
		if s.X == nil || quiet(s.X) {
			return f.statements(rest)
		}
	case *check.Block:
		if !leaves(s) {
			return either(f.statements(s.Stmts), f.statements(rest))
		}
		return f.statements(s.Stmts)
	case *check.If:
		return f.branches(s, rest)
	}
	return nil
}

// branches returns the condition under which s or rest, the statements after s, do anything.
func (f *filterer) branches(s *check.If, rest []check.Stmt) *Condition {
	if !quiet(s.C) {
		return nil
	}
	then, other := f.statements(s.Then.Stmts), never()
	if s.Else != nil {
		other = f.statements([]check.Stmt{s.Else})
	}
	behind := f.statements(rest)
	switch first, second := leaves(s.Then), leaves(s.Else); {
	case first && second:
		behind = never()
	case first:
		other, behind = either(other, behind), never()
	case second:
		then, behind = either(then, behind), never()
	}
	return either(either(all(f.holds(s.C, false), then), all(f.holds(s.C, true), other)), behind)
}

// leaves reports whether the statements after s are never reached.
func leaves(s check.Stmt) bool {
	switch s := s.(type) {
	case *check.Jump:
		return s.Word == "return"
	case *check.Block:
		return s != nil && len(s.Stmts) > 0 && leaves(s.Stmts[len(s.Stmts)-1])
	case *check.If:
		return s.Else != nil && leaves(s.Then) && leaves(s.Else)
	}
	return false
}

// quiet reports whether evaluating e has no effect, not even a warning.
func quiet(e check.Expr) bool {
	ok := true
	check.Walk(e, func(e check.Expr) {
		switch e := e.(type) {
		case *check.Element: // only read
		case *check.Binary:
			ok = ok && e.Op != "/" && e.Op != "%" // may divide by 0, which warns
		default:
			ok = ok && plain(e)
		}
	})
	return ok
}

// holds returns a condition that is met by every hit for which e is true, or false if not is set. It
// is also met by every hit for which evaluating e has an effect.
func (f *filterer) holds(e check.Expr, not bool) *Condition {
	switch e := e.(type) {
	case *check.Const:
		if numeric(e.T) && (e.N != 0) == not {
			return never()
		}
		return nil
	case *check.Unary:
		if e.Op == "!" {
			return f.holds(e.X, !not)
		}
	case *check.Convert:
		if e.X.Type().Kind == types.Bool || e.T.Kind == types.Bool && numeric(e.X.Type()) {
			return f.holds(e.X, not)
		}
	case *check.Binary:
		switch {
		case e.Op != "&&" && e.Op != "||":
		case (e.Op == "||") != not:
			return either(f.holds(e.X, not), f.holds(e.Y, not))
		case !quiet(e.X):
			return f.holds(e.X, not)
		default:
			return all(f.holds(e.X, not), f.holds(e.Y, not))
		}
	}
	if test, ok := f.test(e); ok {
		if not {
			test.Op = opposites()[test.Op]
		}
		if !test.IsText || test.Op == "==" || f.event.Place == Tracepoint || test.Header != "" {
			return &Condition{Test: test}
		}
		// A probe may fail to fetch the text. The fetched text then differs from every constant.
	}
	return nil
}

func opposites() map[string]string {
	return map[string]string{"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
}

// mirrored maps each comparison to the same one with its operands swapped.
func mirrored() map[string]string {
	return map[string]string{"==": "==", "!=": "!=", "<": ">", ">=": "<=", ">": "<", "<=": ">="}
}

// test returns e as a comparison of one value of the hit with a constant, or false if e is no such
// comparison.
func (f *filterer) test(e check.Expr) (Test, bool) {
	b, ok := e.(*check.Binary)
	if !ok || opposites()[b.Op] == "" {
		test, ok := f.number(e)
		test.Op = "!="
		return test, ok
	}
	x, y, op := b.X, b.Y, b.Op
	if _, isConst := x.(*check.Const); isConst {
		x, y, op = y, x, mirrored()[op]
	}
	k, isConst := y.(*check.Const)
	if !isConst {
		return Test{}, false
	}
	if x.Type().Kind == types.String {
		test, ok := f.text(x, k.S)
		test.Op = op
		return test, ok && (op == "==" || op == "!=")
	}
	test, ok := f.number(x)
	test.Op, test.N, test.Signed = op, k.N, x.Type().Signed
	return test, ok && numeric(k.T)
}

// number returns how e computes a number from one value of the hit. Op and N are not set yet.
func (f *filterer) number(e check.Expr) (Test, bool) {
	switch e := e.(type) {
	case *check.Header:
		return Test{Header: e.Name}, e.Name == "tid" || e.Name == "cpu" && !f.who || e.Name == "pid" && f.who
	case *check.FromHit:
		field := f.fields[e.Source]
		return Test{Field: field.Name}, !f.who && field.From == Record && numeric(e.T) && f.clause.Sources[e.Source].Form == check.Plain
	case *check.Convert:
		test, ok := f.number(e.X)
		if !ok || e.T.Kind != types.Int && e.T.Kind != types.Pointer {
			return Test{}, false
		}
		if e.T.Kind == types.Int && e.T.Size < 8 {
			step := Step{Mask: 1<<(8*e.T.Size) - 1}
			if e.T.Signed {
				step.Sign = 8 * e.T.Size
			}
			test.then(step)
		}
		return test, true
	case *check.Binary:
		x, y := e.X, e.Y
		if _, isConst := x.(*check.Const); isConst {
			x, y = y, x
		}
		k, isConst := y.(*check.Const)
		if e.Op != "&" || !isConst {
			return Test{}, false
		}
		test, ok := f.number(x)
		test.then(Step{Mask: k.N})
		return test, ok
	}
	return Test{}, false
}

// numeric reports whether values of type t are numbers in a record.
func numeric(t *types.Type) bool {
	return t.Kind == types.Int || t.Kind == types.Bool || t.Kind == types.Pointer
}

// text returns the comparison of a text of the hit with a constant. Op is not set yet.
func (f *filterer) text(e check.Expr, with string) (Test, bool) {
	test := Test{IsText: true, Text: with}
	switch e := e.(type) {
	case *check.Header:
		test.Header = e.Name
		return test, e.Name == "comm" && !f.who && Quotable(with)
	case *check.FromHit:
		field, of := f.fields[e.Source], f.clause.Sources[e.Source]
		test.Field = field.Name
		whole := of.Form == check.Text || of.Form == check.Plain
		return test, !f.who && field.From == Record && whole && Quotable(with) && (of.Size == 0 || len(with) < of.Size-1)
	}
	return test, false
}

// maxText is the longest text that the kernel accepts in a filter, in bytes (MAX_FILTER_STR_VAL in
// kernel/trace/trace.h).
const maxText = 255

// Quotable reports whether the kernel can compare with text in a filter, with the same result as a
// program's ==.
func Quotable(text string) bool {
	return text != "" && len(text) <= maxText && !strings.HasPrefix(text, "(") && // the kernel stores "(fault)" for unreadable text
		!strings.ContainsAny(text, "\"\\*?[") && strings.IndexFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}
