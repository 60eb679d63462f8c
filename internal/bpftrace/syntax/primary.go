package syntax

import "strconv"

// primary parses an operand without the operators around it.
func (p *parser) primary() Expr {
	switch t := p.peek(); {
	case t.is("("):
		return p.paren()
	case t.is("{"):
		return p.body().expr()
	case t.kind == kindName:
		return p.word()
	case t.kind == kindNumber:
		p.take()
		v, err := parseNumber(t.text)
		if err != nil {
			p.fail(t, "%s: %v", shorten(t.text, 40), err)
		}
		return &Int{Pos: t.pos, Value: v, Text: t.text}
	case t.kind == kindChar:
		s := p.unquoted()
		if len(s) != 1 {
			p.report(t, "one character belongs between these quotes", `A string has double quotes: "…".`)
			panic(bailout{})
		}
		return &Int{Pos: t.pos, Value: uint64(s[0]), Text: t.text}
	case t.kind == kindString:
		return &Str{Pos: t.pos, Value: p.unquoted()}
	case t.kind == kindVar:
		p.take()
		return &Var{Pos: t.pos, Name: t.text}
	case t.kind == kindMap:
		return p.mapElement()
	case t.kind == kindPositional:
		p.take()
		n, err := strconv.Atoi(t.text[1:])
		if err != nil || n < 1 {
			p.fail(t, "parameters are $1, $2 and so on")
		}
		return &Positional{Pos: t.pos, N: n}
	case t.kind == kindCount:
		p.take()
		return &PositionalCount{t.pos}
	}
	p.unexpected("an expression")
	return nil
}

// unquoted consumes a string or a character.
func (p *parser) unquoted() string {
	t := p.take()
	s, at, length, err := unquote(t.text)
	if err != nil {
		if t.length == len(t.text) { // not from a macro
			t.pos.Col += at
			t.length = length
		}
		p.fail(t, "%v", err)
	}
	return s
}

// str consumes the next token, which must be a string. expected describes it in the error message.
func (p *parser) str(expected string) string {
	if p.peek().kind != kindString {
		p.unexpected(expected)
	}
	return p.unquoted()
}

// mapElement parses @x or @x[a, b].
func (p *parser) mapElement() Expr {
	t := p.take()
	m := &Map{Pos: t.pos, Name: t.text}
	if p.got("[") {
		m.Keys = append(m.Keys, p.expression())
		for p.got(",") {
			m.Keys = append(m.Keys, p.expression())
		}
		p.expect("]")
	}
	return m
}

// word parses an operand that starts with a name.
func (p *parser) word() Expr {
	t := p.take()
	call := p.peek().is("(")
	switch {
	case t.text == "true" || t.text == "false":
		return &Bool{Pos: t.pos, Value: t.text == "true"}
	case t.text == "if":
		p.i--
		b := p.branch()
		if !b.hasValue() {
			p.fail(t, "this if has no value: both of its blocks must end in an expression without a semicolon")
		}
		return b.expr()
	case t.text == "comptime":
		p.enter()
		defer p.leave()
		return &Comptime{Pos: t.pos, X: p.unary()}
	case t.text == "sizeof" && call:
		p.take()
		s := &Sizeof{Pos: t.pos}
		s.Type, s.X = p.typeOrExpr()
		p.expect(")")
		return s
	case t.text == "offsetof" && call:
		return p.offsetof(t)
	case t.text == "typeinfo" && call:
		p.take()
		typ, x := p.typeOrExpr()
		if typ != nil {
			x = &TypeArg{Pos: typ.Pos, Type: typ}
		}
		p.expect(")")
		return &Call{Pos: t.pos, Func: t.text, Args: []Expr{x}}
	case call:
		return &Call{Pos: t.pos, Func: t.text, Args: p.args()}
	case p.peek().is("!") && p.ahead(1).is("("):
		p.take()
		return &Call{Pos: t.pos, Func: t.text, Args: p.args(), Bang: true}
	}
	return &Ident{Pos: t.pos, Name: t.text}
}

func (p *parser) offsetof(t token) Expr {
	p.take()
	o := &Offsetof{Pos: t.pos}
	o.Type, o.X = p.typeOrExpr()
	p.expect(",")
	o.Path = append(o.Path, p.name("a field").text)
	for p.got(".") {
		o.Path = append(o.Path, p.name("a field").text)
	}
	p.expect(")")
	return o
}

// args parses the arguments of a call.
func (p *parser) args() []Expr {
	p.expect("(")
	var args []Expr
	for !p.got(")") {
		args = append(args, p.arg())
		if !p.got(",") && !p.peek().is(")") {
			p.unexpected(`"," or ")"`)
		}
	}
	return args
}

func (p *parser) arg() Expr {
	t := p.peek()
	if t.kind == kindName {
		switch t.text {
		case "typeof", "struct", "union", "enum":
			return &TypeArg{Pos: t.pos, Type: p.typeExpr()}
		}
	}
	return p.expression()
}

// paren parses what starts with a parenthesis: a cast, a tuple, a record or a group.
func (p *parser) paren() Expr {
	p.enter()
	defer p.leave()
	open := p.take()
	switch t := p.peek(); {
	case p.got(")"):
		return &Tuple{Pos: open.pos}
	case t.kind == kindName && p.ahead(1).is("="):
		return p.record(open)
	}
	if typ := p.castType(); typ != nil {
		return &Cast{Pos: open.pos, Type: typ, X: p.unary()}
	}
	x := p.expression()
	if p.got(")") {
		return x
	}
	tuple := &Tuple{Pos: open.pos, Elems: []Expr{x}}
	for !p.got(")") {
		if !p.got(",") {
			p.unexpected(`")"`)
		}
		if !p.peek().is(")") {
			tuple.Elems = append(tuple.Elems, p.expression())
		}
	}
	return tuple
}

// record parses name=value, … up to the closing parenthesis.
func (p *parser) record(open token) Expr {
	r := &Record{Pos: open.pos}
	for !p.got(")") {
		name := p.name("a name")
		p.link(name)
		for _, other := range r.Names {
			if other == name.text {
				p.fail(name, "the record already has an element %s", name.text)
			}
		}
		p.expect("=")
		r.Names = append(r.Names, name.text)
		r.Elems = append(r.Elems, p.expression())
		if !p.got(",") && !p.peek().is(")") {
			p.unexpected(`"," or ")"`)
		}
	}
	return r
}
