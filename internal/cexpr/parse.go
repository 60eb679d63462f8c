package cexpr

// maxDepth bounds how deep expressions may nest. The kernel's own reach 20.
const maxDepth = 200

// Parser reads expressions.
type Parser struct {
	// IsType reports whether a name that is alone in parentheses is a type, so
	// that the parentheses are a cast. One that it does not know is a type where
	// an operand follows.
	IsType func(name string) bool
	// Operand is what errors call an operand: "a value", "a parameter's name".
	Operand string
	// Filter reads the kernel's event filters (Documentation/trace/events.rst, section
	// 5.1): ~ and !~ compare as == does, and texts stand in either quotes, without escapes.
	Filter bool
}

// Parse reads one expression. The error is an *Error.
func (p Parser) Parse(text string) (Expr, error) {
	list, err := p.parse(text, false)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// ParseList reads expressions with commas between them. The error is an *Error.
func (p Parser) ParseList(text string) ([]Expr, error) { return p.parse(text, true) }

func (p Parser) parse(text string, isList bool) ([]Expr, error) {
	tokens, err := lex(text, p.Filter)
	if err != nil {
		return nil, err
	}
	s := &state{Parser: p, tokens: tokens}
	var list []Expr
	for {
		x, err := s.expression()
		if err != nil {
			return nil, err
		}
		list = append(list, x)
		if !isList || !s.accept(",") {
			break
		}
	}
	switch t := s.token(); {
	case t.kind == tokenEnd:
		return list, nil
	case s.is(")") || s.is("]") || s.is("}"):
		return nil, fail(t.pos, "this %s closes nothing", t.text)
	default:
		return nil, fail(t.pos, "%q is not understood here", text[t.pos:t.pos+1])
	}
}

// state is a place among the tokens.
type state struct {
	Parser
	tokens []token
	next   int
	depth  int
}

func (s *state) token() *token { return &s.tokens[s.next] }

func (s *state) at() At { return At(s.token().pos) }

func (s *state) is(operator string) bool {
	t := s.token()
	return t.kind == tokenOperator && t.text == operator
}

func (s *state) accept(operator string) bool {
	if !s.is(operator) {
		return false
	}
	s.next++
	return true
}

func (s *state) expect(operator string) error {
	if s.accept(operator) {
		return nil
	}
	switch operator {
	case ")":
		return fail(s.token().pos, "the parenthesis is not closed: ) should close it")
	case "]":
		return fail(s.token().pos, "the bracket is not closed")
	}
	return fail(s.token().pos, "%s belongs here", operator)
}

// enter counts one level of nesting; its caller must leave.
func (s *state) enter() error {
	if s.depth++; s.depth > maxDepth {
		return fail(s.token().pos, "the expression nests deeper than %d levels", maxDepth)
	}
	return nil
}

func (s *state) leave() { s.depth-- }

// expression reads one expression, the conditional operator included.
func (s *state) expression() (Expr, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	condition, err := s.binary(1)
	at := s.at()
	if err != nil || !s.accept("?") {
		return condition, err
	}
	x := &Operation{at, "?:", []Expr{condition}}
	if !s.is(":") {
		if err := s.operand(x); err != nil {
			return nil, err
		}
	}
	if err := s.expect(":"); err != nil {
		return nil, err
	}
	return x, s.operand(x)
}

// operand reads another operand of x.
func (s *state) operand(x *Operation) error {
	operand, err := s.expression()
	x.Args = append(x.Args, operand)
	return err
}

// precedence of binary operators, 0 for what is none.
func (s *state) precedence(t *token) int {
	if t.kind != tokenOperator {
		return 0
	}
	switch t.text {
	case "~", "!~":
		if s.Filter {
			return 6
		}
	case "||":
		return 1
	case "&&":
		return 2
	case "|":
		return 3
	case "^":
		return 4
	case "&":
		return 5
	case "==", "!=":
		return 6
	case "<", ">", "<=", ">=":
		return 7
	case "<<", ">>":
		return 8
	case "+", "-":
		return 9
	case "*", "/", "%":
		return 10
	}
	return 0
}

// binary reads operands joined by operators of at least that precedence.
func (s *state) binary(least int) (Expr, error) {
	left, err := s.unary()
	for err == nil {
		op := s.token()
		p := s.precedence(op)
		if p == 0 || p < least {
			break
		}
		s.next++
		var right Expr
		right, err = s.binary(p + 1)
		left = &Operation{At(op.pos), op.text, []Expr{left, right}}
	}
	return left, err
}

func (s *state) unary() (Expr, error) {
	if err := s.enter(); err != nil {
		return nil, err
	}
	defer s.leave()
	t, at := s.token(), s.at()
	if t.kind != tokenOperator {
		return s.postfix()
	}
	switch t.text {
	case "-", "~", "!", "+", "*", "&":
		s.next++
		x, err := s.unary()
		return &Operation{at, t.text, []Expr{x}}, err
	case "(":
		typ, ok, err := s.cast(true)
		if err != nil {
			return nil, err
		}
		if ok {
			x, err := s.unary()
			return &Cast{at, typ, x}, err
		}
	}
	return s.postfix()
}

// cast reads "(type)" if that is what comes next. guess says that a name that is
// not known counts as a type where an operand follows.
func (s *state) cast(guess bool) (t TypeName, ok bool, err error) {
	start := s.next
	s.next++ // the parenthesis
	t = s.typeName()
	sure := t.IsTagged() || len(t.Words) > 1
	ok = s.accept(")")
	switch {
	case sure && !ok:
		return t, false, fail(s.token().pos, "a cast is (TYPE)EXPRESSION, for instance ((struct sock *)x)->sk_family")
	case ok && (sure || len(t.Words) == 1 && (t.Stars > 0 || s.isType(t.Words[0], guess))):
		return t, true, nil
	}
	s.next = start
	return t, false, nil
}

// isType tells whether a name is a type; the token behind it is next.
func (s *state) isType(name string, guess bool) bool {
	follows := s.token()
	return name[0] != '$' && (s.IsType != nil && s.IsType(name) ||
		guess && follows.kind != tokenEnd && (follows.kind != tokenOperator || follows.text == "("))
}

// typeName reads words and stars.
func (s *state) typeName() (t TypeName) {
	for ; s.token().kind == tokenName; s.next++ {
		if word := s.token(); !isQualifier(word.text) {
			t.At, t.Words = At(word.pos), append(t.Words, word.text)
		}
	}
	for s.accept("*") {
		t.Stars++
		for s.token().kind == tokenName && isQualifier(s.token().text) {
			s.next++
		}
	}
	return t
}
