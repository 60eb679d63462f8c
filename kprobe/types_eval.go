package kprobe

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/arch"
	"github.com/ringtap/ringtap/internal/host/btf"
	"github.com/ringtap/ringtap/internal/text/cexpr"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// maxPath is the maximum length of a path in bytes, which also limits its nesting.
const maxPath = 500

// operand is the name of an operand in the parser's errors.
const operand = "a parameter's name"

// evaluator turns a path into fetch expressions of the kernel. A path is a C expression of
// members, elements, casts, & and *.
type evaluator struct {
	path     string
	function string
	isReturn bool
	machine  *arch.Machine
	specs    []*btf.Spec // the module's, then the kernel's
	unknown  string      // why params and result are unknown, else ""
	params   []param
	result   btf.Type
}

func (e *evaluator) fail(pos int, format string, args ...any) error {
	return &ftrace.SyntaxError{Text: e.path, Pos: pos, Message: escape.Text(fmt.Sprintf(format, args...))}
}

func (e *evaluator) evaluate() (value, error) {
	if len(e.path) > maxPath {
		return value{}, e.fail(maxPath, "an expression can't have more than %d characters", maxPath)
	}
	parser := cexpr.Parser{Operand: operand, IsType: func(name string) bool { return !e.isParameter(name) }}
	x, err := parser.Parse(e.path)
	if wrong := (*cexpr.Error)(nil); errors.As(err, &wrong) {
		return value{}, e.fail(wrong.Pos, "%v", wrong)
	}
	return e.value(x)
}

func (e *evaluator) value(x cexpr.Expr) (value, error) {
	switch x := x.(type) {
	case *cexpr.Name:
		return e.name(x)
	case *cexpr.Cast:
		return e.cast(x)
	case *cexpr.Member:
		v, err := e.value(x.X)
		if err != nil {
			return v, err
		}
		return e.member(v, x)
	case *cexpr.Operation:
		unary := len(x.Args) == 1 && (x.Op == "*" || x.Op == "&")
		if !unary && x.Op != "[]" {
			break
		}
		v, err := e.value(x.Args[0])
		switch {
		case err != nil:
			return v, err
		case x.Op == "[]":
			return e.element(v, x)
		case x.Op == "&":
			return e.addressOf(v, x.Pos())
		case !v.typ.isPointer() && v.typ.kind() != btf.Array:
			return v, e.fail(x.Pos(), "%s is no pointer, but %s", v.name, v.typ)
		}
		return e.followed(v, 0, x.Pos())
	}
	return value{}, e.fail(x.Pos(), "%q is not understood here: members (-> and .), elements ([1]), casts, * and & are", e.path[x.Pos():x.Pos()+1])
}

func (e *evaluator) addressOf(v value, pos int) (value, error) {
	switch {
	case v.width > 0:
		return v, e.fail(pos, "%s is a bitfield, which has no address", v.name)
	case v.kind != inMemory:
		return v, e.fail(pos, "%s is not in memory: it has no address", v.name)
	}
	v.kind = address
	v.typ.stars++
	return v, nil
}

// name evaluates the name of a parameter, $argN or $retval.
func (e *evaluator) name(x *cexpr.Name) (value, error) {
	name, dollar := strings.CutPrefix(x.Text, "$")
	switch {
	case dollar && name == "retval" && e.unknown != "":
		return value{typ: e.unsignedLong(), kind: computed, text: "$retval", name: name, pos: x.Pos()}, nil
	case dollar && name == "retval":
		if e.result.Resolve().Kind() == btf.Void {
			return value{}, e.fail(x.Pos(), "%s returns nothing (void)", e.function)
		}
		v := e.returned()
		v.pos = x.Pos()
		return v, nil
	case dollar:
		return e.numbered(name, x.Pos())
	case e.unknown != "":
		return value{}, e.fail(x.Pos(), "%s", e.unknown)
	}
	for _, p := range e.params {
		if p.name == name {
			v := p.value
			v.pos = x.Pos()
			return v, nil
		}
	}
	return value{}, e.fail(x.Pos(), "%s", e.noParameter(name))
}

// numbered evaluates $argN, with the parameter's type if it is one.
func (e *evaluator) numbered(name string, start int) (value, error) {
	digits, ok := strings.CutPrefix(name, "arg")
	if n, err := strconv.Atoi(digits); !ok || err != nil || n < 1 || n > 100 {
		return value{}, e.fail(start, "there is no $%s: an expression begins with a parameter, $arg1, $arg2 … or, of a return probe, $retval", name)
	}
	for _, p := range e.params {
		if p.kind == computed && p.text == "$"+name {
			v := p.value
			v.pos = start
			return v, nil
		}
	}
	return value{typ: e.unsignedLong(), kind: computed, text: "$" + name, name: name, pos: start}, nil
}

// element evaluates an element of an array, or one that a pointer points to.
func (e *evaluator) element(v value, x *cexpr.Operation) (value, error) {
	at, start := x.Pos(), x.Args[1].Pos()
	number, ok := x.Args[1].(*cexpr.Number)
	switch {
	case !ok || number.Value >= 1<<31:
		return v, e.fail(start, "an element is given by its number: [0], [1] …")
	case !v.typ.isPointer() && v.typ.kind() != btf.Array:
		return v, e.fail(at, "%s is no array, but %s", v.name, v.typ)
	}
	index := number.Value
	if v.typ.kind() == btf.Array {
		if n := v.typ.t.Resolve().Len(); n > 0 && index >= uint64(n) {
			return v, e.fail(start, "%s has %d elements, [0] to [%d]", v.name, n, n-1)
		}
	}
	v, err := e.followed(v, int64(index), at)
	v.name += "_" + strconv.FormatUint(index, 10)
	return v, err
}

// followed is follow, with errors that point into the path.
func (e *evaluator) followed(v value, index int64, pos int) (value, error) {
	out, err := v.follow(index)
	if err != nil {
		return v, e.fail(pos, "%v", err)
	}
	return out, nil
}
