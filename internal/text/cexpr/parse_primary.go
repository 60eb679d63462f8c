package cexpr

// postfix parses an operand and its suffixes: ->name, .name, [index].
func (s *state) postfix() (Expr, error) {
	x, err := s.primary()
	for err == nil {
		at := s.at()
		switch {
		case s.is("->") || s.is("."):
			x, err = s.member(x, at)
		case s.accept("["):
			x, err = s.index(x, at)
		default:
			return x, nil
		}
	}
	return nil, err
}

func (s *state) member(x Expr, pos At) (Expr, error) {
	op := s.token().text
	s.next++
	name := s.token()
	if name.kind != tokenName {
		return nil, fail(name.pos, "the name of a member follows %s", op)
	}
	s.next++
	return &Member{pos, x, op, Name{At(name.pos), name.text}}, nil
}

func (s *state) index(array Expr, pos At) (Expr, error) {
	if s.is("]") {
		return nil, fail(s.token().pos, "the number of an element belongs between the brackets")
	}
	x := &Operation{pos, "[]", []Expr{array}}
	if err := s.operand(x); err != nil {
		return nil, err
	}
	return x, s.expect("]")
}

func (s *state) primary() (Expr, error) {
	t, at := s.token(), s.at()
	switch {
	case t.kind == tokenEnd:
		return nil, fail(t.pos, "the expression ends where %s belongs", s.Operand)
	case t.kind == tokenOperator && t.text == "(":
		return s.parenthesis()
	case t.kind == tokenOperator && t.text == "{":
		s.next++
		list, err := s.list("}")
		return &Operation{at, "{}", list}, err
	case t.kind == tokenOperator:
		return nil, fail(t.pos, "%s belongs here", s.Operand)
	}
	s.next++
	switch {
	case t.kind == tokenNumber:
		return &Number{at, t.number, t.typ}, nil
	case t.kind == tokenString:
		return &String{at, t.text}, nil
	case !s.is("("):
		return &Name{at, t.text}, nil
	case t.text == "sizeof":
		return s.sizeOf(at)
	}
	s.next++
	args, err := s.list(")")
	return &Call{at, t.text, args}, err
}

// list parses expressions up to the closing operator. A trailing comma is allowed.
func (s *state) list(closing string) (list []Expr, err error) {
	for !s.accept(closing) {
		x, err := s.expression()
		if err != nil {
			return nil, err
		}
		list = append(list, x)
		if !s.accept(",") {
			return list, s.expect(closing)
		}
	}
	return list, nil
}

func (s *state) sizeOf(pos At) (Expr, error) {
	t, ok, err := s.cast(false)
	if ok || err != nil {
		return &SizeOf{At: pos, Type: t}, err
	}
	x, err := s.parenthesis()
	return &SizeOf{At: pos, X: x}, err
}

// parenthesis parses (expression), or GNU C's ({ int x = …; …; value; }), which min() and max()
// expand to.
func (s *state) parenthesis() (Expr, error) {
	at := s.at()
	s.next++
	if !s.accept("{") {
		x, err := s.expression()
		if err != nil {
			return nil, err
		}
		return x, s.expect(")")
	}
	block := &Operation{At: at, Op: "({})"}
	for !s.accept("}") {
		x, err := s.statement()
		if err != nil {
			return nil, err
		}
		if err := s.expect(";"); err != nil {
			return nil, err
		}
		block.Args = append(block.Args, x)
	}
	if len(block.Args) == 0 {
		return nil, fail(int(at), "these statements have no value")
	}
	return block, s.expect(")")
}

// statement parses an expression or TYPE NAME = expression.
func (s *state) statement() (Expr, error) {
	start, at := s.next, s.at()
	t := s.typeName()
	name := ""
	if n := len(t.Words); t.Stars == 0 && n > 1 {
		name, t.Words = t.Words[n-1], t.Words[:n-1]
	} else if word := s.token(); n > 0 && t.Stars > 0 && word.kind == tokenName {
		name = word.text
		s.next++
	}
	if name == "" || !s.accept("=") {
		s.next = start
		return s.expression()
	}
	x, err := s.expression()
	return &Declaration{at, t, name, x}, err
}
