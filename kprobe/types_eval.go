package kprobe

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/btf"
	"github.com/ringtap/ringtap/internal/visible"
)

// maxPath bounds the bytes of a path, and so how deeply it is nested.
const maxPath = 500

// evaluator reads a path, which is a C expression of members, elements, casts, &
// and *, and works out as it goes along what the kernel has to fetch.
type evaluator struct {
	path     string
	pos      int
	function string
	isReturn bool
	arch     string
	specs    []*btf.Spec // the module's before the kernel's
	unknown  string      // why params and result are not known, "" if they are
	params   []param
	result   btf.Type
}

// fail points at a byte of the path.
func (e *evaluator) fail(pos int, format string, args ...any) error {
	return &ftrace.SyntaxError{Text: e.path, Pos: pos, Message: visible.Text(fmt.Sprintf(format, args...))}
}

// evaluate reads the whole path.
func (e *evaluator) evaluate() (value, error) {
	if len(e.path) > maxPath {
		return value{}, e.fail(maxPath, "an expression can't have more than %d characters", maxPath)
	}
	v, err := e.unary()
	if err != nil {
		return v, err
	}
	if e.blanks(); e.pos < len(e.path) {
		return v, e.fail(e.pos, "%q is not understood here: members (-> and .), elements ([1]), casts, * and & are", e.path[e.pos:e.pos+1])
	}
	return v, nil
}

func (e *evaluator) blanks() {
	for e.pos < len(e.path) && isBlank(e.path[e.pos]) {
		e.pos++
	}
}

// eat reads what comes next if it is token.
func (e *evaluator) eat(token string) bool {
	e.blanks()
	if !strings.HasPrefix(e.path[e.pos:], token) {
		return false
	}
	e.pos += len(token)
	return true
}

// identifier reads a name, "" if there is none.
func (e *evaluator) identifier() string {
	e.blanks()
	start := e.pos
	for e.pos < len(e.path) && (isLetter(e.path[e.pos]) || e.pos > start && isDigit(e.path[e.pos])) {
		e.pos++
	}
	return e.path[start:e.pos]
}

// unary reads *, &, a cast, or what they are before.
func (e *evaluator) unary() (value, error) {
	e.blanks()
	start := e.pos
	switch {
	case e.eat("*"):
		v, err := e.unary()
		if err != nil {
			return v, err
		}
		if !v.typ.isPointer() && v.typ.kind() != btf.Array {
			return v, e.fail(start, "%s is no pointer, but %s", v.name, v.typ)
		}
		return e.followed(v, 0, start)
	case e.eat("&"):
		v, err := e.unary()
		switch {
		case err != nil:
			return v, err
		case v.width > 0:
			return v, e.fail(start, "%s is a bitfield, which has no address", v.name)
		case v.kind != inMemory:
			return v, e.fail(start, "%s is not in memory: it has no address", v.name)
		}
		v.kind = address
		v.typ.stars++
		return v, nil
	case e.eat("("):
		t, ok, err := e.typeName()
		if err != nil {
			return value{}, err
		}
		if ok {
			v, err := e.unary()
			if err != nil {
				return v, err
			}
			return e.cast(v, t, start)
		}
		v, err := e.unary()
		if err != nil {
			return v, err
		}
		if !e.eat(")") {
			return v, e.fail(e.pos, "this parenthesis should close: )")
		}
		return e.postfix(v)
	}
	v, err := e.primary()
	if err != nil {
		return v, err
	}
	return e.postfix(v)
}

// primary reads the name of a parameter, $argN or $retval.
func (e *evaluator) primary() (value, error) {
	e.blanks()
	start := e.pos
	dollar := e.eat("$")
	name := e.identifier()
	switch {
	case name == "" && start == len(e.path):
		return value{}, e.fail(start, "the expression ends where a parameter's name belongs")
	case name == "":
		return value{}, e.fail(start, "a parameter's name belongs here")
	case dollar && name == "retval" && e.unknown != "":
		return value{typ: e.unsignedLong(), kind: computed, text: "$retval", name: name, pos: start}, nil
	case dollar && name == "retval":
		if e.result.Resolve().Kind() == btf.Void {
			return value{}, e.fail(start, "%s returns nothing (void)", e.function)
		}
		v := e.returned()
		v.pos = start
		return v, nil
	case dollar:
		return e.numbered(name, start)
	case e.unknown != "":
		return value{}, e.fail(start, "%s", e.unknown)
	}
	for _, p := range e.params {
		if p.name == name {
			v := p.value
			v.pos = start
			return v, nil
		}
	}
	return value{}, e.fail(start, "%s", e.noParameter(name))
}

// numbered is $argN, with its parameter's type if it is one.
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

// postfix reads members and elements behind a value.
func (e *evaluator) postfix(v value) (value, error) {
	for {
		e.blanks()
		at := e.pos
		var err error
		switch {
		case e.eat("->"):
			v, err = e.member(v, "->", at)
		case e.eat("."):
			v, err = e.member(v, ".", at)
		case e.eat("["):
			v, err = e.element(v, at)
		default:
			return v, nil
		}
		if err != nil {
			return v, err
		}
	}
}

// element reads NUMBER] behind a value.
func (e *evaluator) element(v value, at int) (value, error) {
	e.blanks()
	start := e.pos
	for e.pos < len(e.path) && (isDigit(e.path[e.pos]) || isLetter(e.path[e.pos])) {
		e.pos++
	}
	text := e.path[start:e.pos]
	index, err := strconv.ParseUint(text, 0, 31)
	switch {
	case err != nil || text == "":
		return v, e.fail(start, "an element is given by its number: [0], [1] …")
	case !e.eat("]"):
		return v, e.fail(e.pos, "the bracket is not closed")
	case !v.typ.isPointer() && v.typ.kind() != btf.Array:
		return v, e.fail(at, "%s is no array, but %s", v.name, v.typ)
	}
	if v.typ.kind() == btf.Array {
		if n := v.typ.t.Resolve().Len(); n > 0 && index >= uint64(n) {
			return v, e.fail(start, "%s has %d elements, [0] to [%d]", v.name, n, n-1)
		}
	}
	v, err = e.followed(v, int64(index), at)
	v.name += "_" + strconv.FormatUint(index, 10)
	return v, err
}

// followed is follow with an error that points into the path.
func (e *evaluator) followed(v value, index int64, pos int) (value, error) {
	out, err := v.follow(index)
	if err != nil {
		return v, e.fail(pos, "%v", err)
	}
	return out, nil
}
