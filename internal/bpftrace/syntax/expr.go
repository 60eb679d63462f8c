package syntax

// expression parses any expression.
func (p *parser) expression() Expr {
	if p.within == 0 {
		p.chain = 0
	}
	p.within++
	x := p.ternary()
	p.within--
	return x
}

// link counts an operator of the expression, because each one makes the tree deeper.
func (p *parser) link(t token) {
	if p.chain++; p.chain > maxChain {
		p.abort(t, "an expression has at most %d operators", maxChain)
	}
}

func (p *parser) ternary() Expr {
	p.enter()
	defer p.leave()
	cond := p.binary(1)
	t := p.peek()
	if !p.got("?") {
		return cond
	}
	x := &Ternary{Pos: t.pos, Cond: cond}
	if !p.got(":") {
		x.Then = p.ternary()
		p.expect(":")
	}
	x.Else = p.ternary()
	return x
}

// precedence returns how tightly a binary operator binds, or 0 if t is none.
func precedence(t token) int {
	if t.kind != kindOp {
		return 0
	}
	switch t.text {
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
func (p *parser) binary(minPrec int) Expr {
	x := p.unary()
	for {
		t := p.peek()
		n := precedence(t)
		if n == 0 || n < minPrec || t.text == "/" && p.ahead(1).is("{") { // this slash ends a predicate
			return x
		}
		p.take()
		p.link(t)
		x = &Binary{Pos: t.pos, Op: t.text, X: x, Y: p.binary(n + 1)}
	}
}

// unary parses an operand with the operators before and after it.
func (p *parser) unary() Expr {
	t := p.peek()
	if t.kind != kindOp {
		return p.postfix(p.primary())
	}
	switch t.text {
	case "!", "~", "-", "+", "*", "&", "++", "--":
	default:
		return p.postfix(p.primary())
	}
	p.enter()
	defer p.leave()
	p.take()
	x := p.unary()
	switch n, isInt := x.(*Int); {
	case t.text == "-" && isInt && !n.Negative:
		n.Pos, n.Negative, n.Text = t.pos, true, "-"+n.Text
		return n
	case t.text == "&" && !isVariable(x):
		p.fail(t, "& takes the address of a variable or of a map only")
	case t.text == "++" || t.text == "--":
		p.counts(t, x)
	}
	return &Unary{Pos: t.pos, Op: t.text, X: x}
}

// counts fails unless x is something that ++ and -- can change.
func (p *parser) counts(t token, x Expr) {
	if !isVariable(x) {
		p.fail(t, "%s changes a variable or a map only", t.text)
	}
}

func isVariable(x Expr) bool {
	switch x.(type) {
	case *Var, *Map:
		return true
	case *Ident: // a macro's parameter
		return true
	}
	return false
}

// postfix parses what follows an operand: .field, ->field, .0, [index], ++ and --.
func (p *parser) postfix(x Expr) Expr {
	for {
		t := p.peek()
		if t.kind != kindOp {
			return x
		}
		switch t.text {
		case ".", "->":
			p.take()
			x = p.member(x, t)
		case "[":
			p.take()
			x = &Index{Pos: t.pos, X: x, Index: p.expression()}
			p.expect("]")
		case "++", "--":
			p.counts(t, x)
			p.take()
			x = &Unary{Pos: t.pos, Op: t.text, X: x, Postfix: true}
		default:
			return x
		}
		p.link(t)
	}
}

// member parses what follows the operator . or ->.
func (p *parser) member(x Expr, op token) Expr {
	t := p.peek()
	if t.kind == kindNumber && op.text == "." {
		p.take()
		n, err := parseNumber(t.text)
		if err != nil || n > 1<<16 {
			p.fail(t, "a tuple has no element %s", t.text)
		}
		return &Member{Pos: op.pos, X: x, N: int(n)}
	}
	name := p.name("a field after " + op.text)
	return &Field{Pos: op.pos, X: x, Name: name.text, Arrow: op.text == "->"}
}
