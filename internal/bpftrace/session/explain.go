package session

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/check"
	"github.com/ringtap/ringtap/internal/bpftrace/plan"
	"github.com/ringtap/ringtap/internal/bpftrace/types"
)

// explain prints how ringtap understands the program: its maps with their types, and where each
// attach point gets the values that its clause needs.
func (s *session) explain(w io.Writer) {
	for _, m := range s.checked.Maps {
		fmt.Fprintf(w, "map %s%s: %s\n", m.Name, keyTypes(m.Keys), typeName(m.Value))
	}
	for _, own := range [][]point{s.points.begin, s.points.intervals, s.points.signals, s.points.end} {
		for _, p := range own {
			c := s.checked.Clauses[p.clause]
			fmt.Fprintf(w, "%s (%s:%d): ringtap itself\n", p.text, cmp.Or(c.File, "stdin"), c.Line)
		}
	}
	for _, e := range s.events {
		for _, u := range e.Uses {
			fmt.Fprintf(w, "%s (%s:%d): %s\n", u.Point.Text, cmp.Or(u.Point.File, "stdin"), u.Point.Line, e)
			if len(e.Behind.Fetch) > 0 {
				fmt.Fprintf(w, "    an event probe on it: %s\n", &e.Behind)
			}
			for _, r := range u.Reads {
				fmt.Fprintf(w, "    %d:%d: %s\n", r.Line, r.Col, r.Way)
			}
			for i, f := range u.Fields {
				fmt.Fprintf(w, "    %s: %s\n", typeName(s.checked.Clauses[u.Clause].Sources[i].Type), placeOf(f))
			}
			if e.Placed(s.checked) {
				fmt.Fprintf(w, "    counted by the kernel at each place, if there are many: no record of a hit\n")
			}
			if e.Filter != nil {
				fmt.Fprintf(w, "    filtered by the kernel: %s\n", e.Filter)
			}
			if e.Who != nil {
				fmt.Fprintf(w, "    filtered by the kernel in storms, thread by thread: %s\n", e.Who)
			}
		}
	}
}

// placeOf describes where a value comes from.
func placeOf(f plan.Field) string {
	switch f.From {
	case plan.Record:
		return "field " + f.Name + " of the record"
	case plan.RecordText:
		return "the text that field " + f.Name + " points to"
	case plan.Memory:
		return "the memory behind field " + f.Name + ": the copy of the stack, what a helper reads while the thread stands still, or the process a moment after the hit"
	case plan.Entry:
		return "field " + f.Name + " of the record of the function's entry"
	case plan.Task:
		return "the kernel's struct of the thread, a moment after the hit"
	case plan.EventProbe:
		return "field " + f.Name + " of the record of the event probe"
	case plan.KernelStack:
		return "the kernel stack of the hit"
	case plan.UserStack:
		return "the user stack of the hit"
	case plan.Function:
		return "the name of the function"
	}
	if f.Root == check.TaskRoot && !strings.HasPrefix(f.Name, "ns/") {
		return "the " + f.Name + " of the hit"
	}
	return "/proc, a moment after the hit"
}

// keyTypes returns the types of the parts of a key, in brackets.
func keyTypes(keys []*types.Type) string {
	if len(keys) == 0 {
		return ""
	}
	var parts []string
	for _, t := range keys {
		parts = append(parts, typeName(t))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// typeName returns a type as programs write it.
func typeName(t *types.Type) string {
	switch t.Kind {
	case types.Int:
		if t.Name != "" {
			return t.Name
		}
		sign := "u"
		if t.Signed {
			sign = ""
		}
		return fmt.Sprintf("%sint%d", sign, 8*t.Size)
	case types.String, types.Buffer:
		return fmt.Sprintf("%s[%d]", t.Kind.Name(), t.Size)
	case types.Pointer:
		if t.Elem != nil {
			return typeName(t.Elem) + " *"
		}
	case types.Array:
		return fmt.Sprintf("%s[%d]", typeName(t.Elem), t.Len)
	case types.Struct:
		return t.Name
	case types.Tuple:
		var parts []string
		for _, f := range t.Fields {
			parts = append(parts, typeName(f.Type))
		}
		return "(" + strings.Join(parts, ", ") + ")"
	}
	return t.Kind.Name()
}
