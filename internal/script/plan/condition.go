package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Condition is what must be so of a hit for the clauses of its event to do anything, as far as
// the kernel can compare it. The clauses ask all of theirs again, so that it may let more pass. Nil
// lets everything pass.
type Condition struct {
	// Op is && or || of all the conditions Of, or "" of Test alone. || of none is never so.
	Op   string
	Of   []*Condition
	Test Test
}

// A Test is a comparison of a value of a hit with a constant.
type Test struct {
	Field  string // of the record; "" where Header says what it is
	Header string // tid, cpu or comm; in Event.Who also pid
	Op     string // ==, !=, <, <=, > or >=; of a text only the first two
	// Steps are what is done to a number, extended to 64 bits as its field says, before it is
	// compared with N, as signed numbers or not.
	Steps  []Step
	N      uint64
	Signed bool
	IsText bool
	Text   string // that a text is compared with
}

// A Step keeps the bits of Mask of a number. Unless Sign is 0, the number has so many bits then, and
// the highest one is its sign.
type Step struct {
	Mask uint64
	Sign int
}

// then adds a step, unless it changes nothing of what the last one leaves.
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

// String returns the condition in the kernel's words, where it has words for it.
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

// String returns the comparison in the kernel's words, where it has words for it.
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

// Name is what the kernel calls the value.
func (t *Test) Name() string {
	switch t.Header {
	case "tid":
		return "common_pid" // which is a thread's id
	case "pid":
		return "pid"
	case "cpu":
		return "CPU"
	case "comm":
		return "COMM"
	}
	return t.Field
}

// Renamed returns the condition with other names for its numbers that are fields. Texts have no name
// then, and can't be compared, as what gets the name "".
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

// asks tells whether the condition has a test of a value that comes with every hit.
func (c *Condition) asks(header string) bool {
	return c != nil && (c.Test.Header == header || slices.ContainsFunc(c.Of, func(of *Condition) bool { return of.asks(header) }))
}

// Admits tells whether a hit of a thread may meet the condition.
func (c *Condition) Admits(pid, tid uint32) bool {
	admits := func(of *Condition) bool { return of.Admits(pid, tid) }
	switch {
	case c == nil:
		return true
	case c.Op == "||":
		return slices.ContainsFunc(c.Of, admits)
	case c.Op == "&&":
		return !slices.ContainsFunc(c.Of, func(of *Condition) bool { return !admits(of) })
	case c.Test.Header == "pid":
		return c.Test.holds(uint64(pid))
	case c.Test.Header == "tid":
		return c.Test.holds(uint64(tid))
	}
	return true
}

// holds tells whether the comparison is true of a number.
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

// never is a condition that no hit meets.
func never() *Condition { return &Condition{Op: "||"} }

func (c *Condition) isNever() bool { return c != nil && c.Op == "||" && len(c.Of) == 0 }

// all is met where both are.
func all(a, b *Condition) *Condition {
	switch {
	case a == nil || b.isNever():
		return b
	case b == nil || a.isNever():
		return a
	}
	return join("&&", a, b)
}

// either is met where one of two is.
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
