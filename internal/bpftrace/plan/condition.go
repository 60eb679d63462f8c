package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Condition is a test of a hit that the kernel can make before the clauses of the event run. It
// may let through hits for which no clause does anything, because each clause tests its own
// conditions again. A nil Condition lets every hit through.
type Condition struct {
	// Op is && or || if Of holds the operands, or "" if the condition is Test alone. || without
	// operands is always false.
	Op   string
	Of   []*Condition
	Test Test
}

// A Test compares a value of a hit with a constant.
type Test struct {
	Field  string // of the record; "" if Header names the value
	Header string // tid, cpu or comm; in Event.Who also pid
	Op     string // ==, !=, <, <=, > or >=; only the first two for texts
	// Steps are applied in order to the number, after it is extended to 64 bits as its field's type
	// says. The result is then compared with N. Signed makes the comparison signed.
	Steps  []Step
	N      uint64
	Signed bool
	IsText bool
	Text   string // the constant that a text is compared with
}

// A Step masks a number with Mask. If Sign is not 0, the result is Sign bits wide and its highest
// bit is the sign.
type Step struct {
	Mask uint64
	Sign int
}

// then appends a step, unless the step cannot change the result of the last one.
func (t *Test) then(s Step) {
	if n := len(t.Steps); n > 0 {
		last := t.Steps[n-1]
		whole := s.Sign > 0 && s.Sign >= last.Sign && s.Mask == 1<<s.Sign-1
		positive := last.Mask&^s.Mask == 0 && (s.Sign == 0 || last.Mask>>(s.Sign-1) == 0)
		if last.Sign > 0 && whole || last.Sign == 0 && positive {
			return
		}
	}
	t.Steps = append(t.Steps, s)
}

// String returns the condition in the kernel's filter syntax, as far as that syntax can express it.
func (c *Condition) String() string {
	if c.Op == "" {
		return c.Test.String()
	}
	var parts []string
	for _, of := range c.Of {
		part := of.String()
		if of.Op != "" {
			part = "(" + part + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, " "+c.Op+" ")
}

// String returns the comparison in the kernel's filter syntax, as far as that syntax can express
// it.
func (t *Test) String() string {
	name := t.Name()
	for _, step := range t.Steps {
		if step.Sign > 0 {
			name = fmt.Sprintf("(int%d)%s", step.Sign, name)
		} else {
			name = fmt.Sprintf("(%s & %#x)", name, step.Mask)
		}
	}
	switch {
	case t.IsText:
		return fmt.Sprintf("%s %s %q", name, t.Op, t.Text)
	case t.Signed:
		return fmt.Sprintf("%s %s %d", name, t.Op, int64(t.N))
	}
	return fmt.Sprintf("%s %s %d", name, t.Op, t.N)
}

// Name returns the kernel's name for the value.
func (t *Test) Name() string {
	switch t.Header {
	case "tid":
		return "common_pid" // which is a thread id
	case "pid":
		return "pid"
	case "cpu":
		return "CPU"
	case "comm":
		return "COMM"
	}
	return t.Field
}

// Renamed returns a copy of the condition with its numeric fields renamed. A test of a text, or of
// a field that name maps to "", gets no field name. The kernel's filter must leave out such a test.
func (c *Condition) Renamed(name func(string) string) *Condition {
	renamed := &Condition{Op: c.Op, Test: c.Test}
	if c.Test.Field != "" && c.Test.IsText {
		renamed.Test.Field = ""
	} else if c.Test.Field != "" {
		renamed.Test.Field = name(c.Test.Field)
	}
	for _, of := range c.Of {
		renamed.Of = append(renamed.Of, of.Renamed(name))
	}
	return renamed
}

// asks reports whether the condition tests the Header value named header.
func (c *Condition) asks(header string) bool {
	return c != nil && (c.Test.Header == header || slices.ContainsFunc(c.Of, func(sub *Condition) bool { return sub.asks(header) }))
}

// Admits reports whether a hit of this thread can meet the condition.
func (c *Condition) Admits(pid, tid uint32) bool {
	admits := func(sub *Condition) bool { return sub.Admits(pid, tid) }
	switch {
	case c == nil:
		return true
	case c.Op == "||":
		return slices.ContainsFunc(c.Of, admits)
	case c.Op == "&&":
		return !slices.ContainsFunc(c.Of, func(sub *Condition) bool { return !admits(sub) })
	case c.Test.Header == "pid":
		return c.Test.holds(uint64(pid))
	case c.Test.Header == "tid":
		return c.Test.holds(uint64(tid))
	}
	return true
}

// holds reports whether n passes the test.
func (t *Test) holds(n uint64) bool {
	for _, step := range t.Steps {
		n &= step.Mask
		if step.Sign > 0 {
			n = uint64(int64(n<<(64-step.Sign)) >> (64 - step.Sign))
		}
	}
	order := cmp.Compare(n, t.N)
	if t.Signed {
		order = cmp.Compare(int64(n), int64(t.N))
	}
	switch t.Op {
	case "==":
		return order == 0
	case "!=":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

// never returns the condition that no hit meets.
func never() *Condition { return &Condition{Op: "||"} }

func (c *Condition) isNever() bool { return c != nil && c.Op == "||" && len(c.Of) == 0 }

// all returns the condition that a hit must meet both a and b.
func all(a, b *Condition) *Condition {
	switch {
	case a == nil || b.isNever():
		return b
	case b == nil || a.isNever():
		return a
	}
	return join("&&", a, b)
}

// either returns the condition that a hit must meet a or b.
func either(a, b *Condition) *Condition {
	switch {
	case a == nil || b == nil:
		return nil
	case a.isNever():
		return b
	case b.isNever():
		return a
	}
	return join("||", a, b)
}

func join(op string, parts ...*Condition) *Condition {
	joined := &Condition{Op: op}
	for _, part := range parts {
		if part.Op == op {
			joined.Of = append(joined.Of, part.Of...)
		} else {
			joined.Of = append(joined.Of, part)
		}
	}
	return joined
}
