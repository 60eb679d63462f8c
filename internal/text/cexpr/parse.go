package cexpr

// maxDepth limits the nesting of expressions. The kernel's own expressions have up to 20
// levels.
const maxDepth = 200

// Parser parses expressions.
type Parser struct {
	// IsType reports whether a single name in parentheses is a type, so that the parentheses
	// are a cast. If it returns false or is nil, the name is a type only if an operand follows.
	IsType func(name string) bool
	// Operand is the word for an operand in errors: "a value", "a parameter's name".
	Operand string
	// Filter parses the kernel's event filters (Documentation/trace/events.rst, section 5.1): ~
	// and !~ have the precedence of ==, and strings are in single or double quotes without
	// escapes.
	Filter bool
}

// Parse parses one expression. The error is an *Error.
func (p Parser) Parse(text string) (Expr, error) {
	list, err := p.parse(text, false)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// ParseList parses expressions separated by commas. The error is an *Error.
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

// state is a position in the list of tokens.
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

// enter adds a level of nesting. The caller must call leave.
func (s *state) enter() error {
	if s.depth++; s.depth > maxDepth {
		return fail(s.token().pos, "the expression nests deeper than %d levels", maxDepth)
	}
	return nil
}

func (s *state) leave() { s.depth-- }

// expression parses one expression, including the conditional operator.
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

// operand parses another operand of x.
func (s *state) operand(x *Operation) error {
	operand, err := s.expression()
	x.Args = append(x.Args, operand)
	return err
}

// precedence returns the precedence of a binary operator, or 0 for any other token.
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

// binary parses operands joined by operators whose precedence is at least minPrec.
func (s *state) binary(minPrec int) (Expr, error) {
	left, err := s.unary()
	for err == nil {
		op := s.token()
		p := s.precedence(op)
		if p == 0 || p < minPrec {
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

// cast parses "(type)" if that is next. If guess is true, an unknown name counts as a type if
// an operand follows.
func (s *state) cast(guess bool) (t TypeName, ok bool, err error) {
	start := s.next
	s.next++ // the parenthesis
	t = s.typeName()
	sure := t.isTagged() || len(t.Words) > 1
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

// isType reports whether a name in parentheses is a type. The next token is the one after the
// parentheses.
func (s *state) isType(name string, guess bool) bool {
	follows := s.token()
	return name[0] != '$' && (s.IsType != nil && s.IsType(name) ||
		guess && follows.kind != tokenEnd && (follows.kind != tokenOperator || follows.text == "("))
}

// typeName parses words and stars.
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
