package eventfilter

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/cexpr"
	"github.com/ringtap/ringtap/internal/text/match"
	"golang.org/x/sys/unix"
)

// Text is a parameter that points to text.
type Text struct {
	// Field holds the text itself, with a zero after each text. It has a name that the kernel
	// can't filter by. Nil means that nobody reads the text.
	Field *ftrace.Field
	// Pointer holds the address. A null pointer matches nothing.
	Pointer *ftrace.Field
	// Vector is true if there are several texts. They are compared joined by blanks.
	Vector bool
}

// Filter is a filter in two parts.
type Filter struct {
	// Kernel is the part for the kernel; "" for none. It passes every record that the whole
	// filter passes.
	Kernel string
	match  node // nil if the kernel does everything
}

// Split splits the filter of an event with the given format. texts are the parameters that
// point to text, by name; all other fields belong to the kernel. A filter that compares no text
// is left as it is, so that the kernel reports its mistakes.
//
// The error is a *ftrace.FilterError.
func Split(filter string, format *ftrace.Format, texts map[string]Text) (*Filter, error) {
	parser := cexpr.Parser{Filter: true, Operand: "a comparison"}
	x, err := parser.Parse(filter)
	if err != nil {
		var wrong *cexpr.Error
		if !namesAny(filter, texts) || !errors.As(err, &wrong) {
			return &Filter{Kernel: filter}, nil
		}
		return nil, refuse(filter, wrong.Pos, "%s", wrong.Message)
	}
	s := &splitter{filter: filter, format: format, texts: texts}
	n, err := s.node(x, false)
	switch {
	case !s.comparesText && !s.rewritten:
		return &Filter{Kernel: filter}, nil // the kernel explains mistakes better
	case err != nil:
		return nil, err
	}
	f := &Filter{Kernel: kernelPart(n)}
	if s.comparesText {
		f.match = n
	}
	return f, s.check(n)
}

// namesAny reports whether the filter contains the name of a text parameter.
func namesAny(filter string, texts map[string]Text) bool {
	for name := range texts {
		if strings.Contains(filter, name) {
			return true
		}
	}
	return false
}

func refuse(filter string, pos int, format string, args ...any) error {
	return &ftrace.FilterError{Filter: filter, Pos: pos, Message: fmt.Sprintf(format, args...), Err: unix.EINVAL}
}

// splitter makes nodes from expressions.
type splitter struct {
	filter       string
	format       *ftrace.Format
	texts        map[string]Text
	comparesText bool // some comparison must be made here
	rewritten    bool // something must be spelled differently for the kernel
}

func (s *splitter) refuse(x cexpr.Expr, format string, args ...any) error {
	return refuse(s.filter, x.Pos(), format, args...)
}

// node makes the node of an expression, or of its negation. It moves "not" down to the
// comparisons, so that only && and || remain above them.
func (s *splitter) node(x cexpr.Expr, not bool) (node, error) {
	op, ok := x.(*cexpr.Operation)
	switch {
	case !ok:
		return nil, s.refuse(x, "a comparison belongs here, such as flags & 2")
	case op.Op == "!" && len(op.Args) == 1:
		return s.node(op.Args[0], !not)
	case len(op.Args) != 2:
		return nil, s.refuse(x, "a comparison belongs here, such as flags & 2")
	case op.Op == "&&" || op.Op == "||":
		a, errA := s.node(op.Args[0], not)
		b, errB := s.node(op.Args[1], not)
		if errA != nil || errB != nil {
			return nil, first(errA, errB)
		}
		if (op.Op == "&&") != not {
			return &both{a, b}, nil
		}
		return &either{a, b}, nil
	}
	return s.comparison(op, not)
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// comparison makes the node of NAME OPERATOR VALUE. As in the kernel, a not before the name
// negates the comparison.
func (s *splitter) comparison(x *cexpr.Operation, not bool) (node, error) {
	left := x.Args[0]
	for {
		op, ok := left.(*cexpr.Operation)
		if !ok || op.Op != "!" || len(op.Args) != 1 {
			break
		}
		left, not = op.Args[0], !not
	}
	name, suffix := fieldName(left)
	if name == "" {
		return nil, s.refuse(left, "the name of a field belongs here")
	}
	op := x.Op
	value, isText := x.Args[1].(*cexpr.String)
	if op == "!~" {
		op, not, s.rewritten = "~", !not, true
	}
	text, known := s.texts[name]
	if known && isText {
		s.comparesText = true
		return s.text(x, name, op, value, text, not)
	}
	field := s.format.Field(name)
	if !isText && field != nil {
		return s.number(x, field, op, not)
	}
	if !known && isText && suffix == "" && field != nil && pointsToChars(field) && s.format.System == "syscalls" {
		s.comparesText = true
		return nil, s.refuse(left, "%s points to bytes, which are not text that ends: they can't be compared", name)
	}
	return s.kernels(x, name+suffix, op, not)
}

// fieldName returns the name of a field, and the suffix that tells the kernel whose memory it
// points to.
func fieldName(x cexpr.Expr) (name, suffix string) {
	switch x := x.(type) {
	case *cexpr.Name:
		return x.Text, ""
	case *cexpr.Member:
		if base, ok := x.X.(*cexpr.Name); ok && x.Op == "." {
			return base.Text, "." + x.Name.Text
		}
	}
	return "", ""
}

func pointsToChars(f *ftrace.Field) bool { return strings.Contains(f.Type, "char *") }

func (s *splitter) text(x *cexpr.Operation, name, op string, value *cexpr.String, text Text, not bool) (node, error) {
	if text.Field == nil {
		return nil, s.refuse(x.Args[0], "nothing reads the text of %s", name)
	}
	n := &textNode{name: name, Text: text, not: not, value: value.Text}
	switch op {
	case "==":
	case "!=":
		n.not = !not
	case "~":
		glob, err := match.ParseGlob(value.Text)
		var wrong *match.GlobError
		if errors.As(err, &wrong) {
			return nil, refuse(s.filter, value.Pos()+1+wrong.Pos, "%s", wrong.Reason)
		}
		n.glob = &glob
	default:
		return nil, s.refuse(x, "text is compared by ==, !=, ~ and !~")
	}
	return n, nil
}

// number makes the node of a comparison with a number, with the kernel's semantics
// (kernel/trace/trace_events_filter.c).
func (s *splitter) number(x *cexpr.Operation, field *ftrace.Field, op string, not bool) (node, error) {
	value, negative, ok := number(x.Args[1])
	if _, isNumber := field.Uint(make([]byte, field.Offset+field.Size)); !ok || !isNumber {
		return s.kernels(x, field.Name, op, not)
	}
	if negative && !field.Signed {
		return nil, s.refuse(x.Args[1], "%s is unsigned: it has no negative values", field.Name)
	}
	switch op {
	case "==", "!=", "<", "<=", ">", ">=", "&":
	default:
		return nil, s.refuse(x, "numbers are compared by ==, !=, <, <=, >, >= and &")
	}
	digits := fmt.Sprint(value)
	if negative {
		digits = fmt.Sprint(int64(value))
	}
	return &numberNode{field: field, op: op, value: value, not: not, text: field.Name + " " + op + " " + digits}, nil
}

// number returns the value of a numeric expression.
func number(x cexpr.Expr) (value uint64, negative, ok bool) {
	switch x := x.(type) {
	case *cexpr.Number:
		return x.Value, false, true
	case *cexpr.Operation:
		if x.Op == "-" && len(x.Args) == 1 {
			value, negative, ok = number(x.Args[0])
			return -value, !negative, ok
		}
	}
	return 0, false, false
}

// kernels makes the node of a comparison that only the kernel can make: with comm, with values
// that are in no record, or with text in the record.
func (s *splitter) kernels(x *cexpr.Operation, name, op string, not bool) (node, error) {
	text := name + " " + op + " "
	switch value := x.Args[1].(type) {
	case *cexpr.String:
		text += quote(value.Text)
	case *cexpr.Name:
		text += value.Text
	default:
		v, negative, ok := number(value)
		switch {
		case !ok:
			return nil, s.refuse(value, "a number or a text in quotes belongs here")
		case negative:
			text += fmt.Sprint(int64(v))
		default:
			text += fmt.Sprint(v)
		}
	}
	return &kernelNode{pos: x.Args[0].Pos(), text: text, not: not}, nil
}

// check rejects filters that neither the kernel nor Match can decide: an "or" of a text and a
// value that only the kernel knows.
func (s *splitter) check(n node) error {
	if and, ok := n.(*both); ok {
		return first(s.check(and.a), s.check(and.b))
	}
	if only := kernelOnly(n); only != nil && hasText(n) {
		return refuse(s.filter, only.pos, "only the kernel can compare this, and not as an alternative to a text: join it by &&")
	}
	return nil
}
