package syntax

import "fmt"

// body is the content of a pair of braces. Its user decides whether the last expression is a value
// or a statement.
type body struct {
	pos    Pos
	stmts  []Stmt
	result Expr
	last   Stmt // result, as a statement
}

func (b body) block() *Block {
	stmts := b.stmts
	if b.last != nil {
		stmts = append(stmts, b.last)
	}
	return &Block{Pos: b.pos, Stmts: stmts}
}

func (b body) expr() *BlockExpr {
	return &BlockExpr{Pos: b.pos, Stmts: b.stmts, Result: b.result}
}

func (p *parser) block() *Block { return p.body().block() }

// body parses { … }.
func (p *parser) body() body {
	p.enter()
	defer p.leave()
	open := p.expect("{")
	b := body{pos: open.pos}
	errors := len(p.shared.errors)
	for !p.got("}") {
		if p.peek().kind == kindEnd {
			if len(p.shared.errors) == errors { // else it may be a consequence of an earlier error
				p.report(open, "this { has no }", "")
			}
			panic(bailout{})
		}
		start := p.i
		if !p.try(func() { p.stmt(&b) }) {
			if p.shared.aborted {
				panic(bailout{})
			}
			p.skipStmt(start)
		}
	}
	return b
}

// skipStmt continues after an error in the statement that starts at token start. It moves past the
// statement's semicolon, or to the end of the surrounding block.
func (p *parser) skipStmt(start int) {
	for depth := depthOf(p.tokens[start:p.i]); depth >= 0; {
		t := p.peek()
		if t.kind == kindEnd || t.is("}") && depth == 0 {
			return
		}
		depth += p.take().brace()
		if t.is(";") && depth == 0 {
			return
		}
	}
}

// stmt parses a statement and adds it to b.
func (p *parser) stmt(b *body) {
	t := p.peek()
	add := func(s Stmt) { b.stmts = append(b.stmts, s) }
	switch {
	case t.is(";"):
		p.take()
		return
	case t.is("{"):
		inner := p.body()
		p.addBlock(b, inner.block(), inner.expr(), inner.result != nil)
		return
	case t.kind != kindName:
	case t.text == "if":
		branch := p.branch()
		p.addBlock(b, branch.stmt(), branch.expr(), branch.hasValue())
		return
	case t.text == "while":
		p.take()
		add(&While{Pos: t.pos, Cond: p.condition(), Body: p.block()})
		return
	case t.text == "unroll":
		p.take()
		add(&Unroll{Pos: t.pos, Count: p.condition(), Body: p.block()})
		return
	case t.text == "for":
		add(p.forLoop())
		return
	case t.text == "let":
		add(p.let())
		p.endStmt()
		return
	case t.text == "return" || t.text == "break" || t.text == "continue":
		p.take()
		j := &Jump{Pos: t.pos, Word: t.text}
		if end := p.peek(); t.text == "return" && !end.is(";") && !end.is("}") {
			j.Value = p.expression()
		}
		add(j)
		p.endStmt()
		return
	case t.text == "import" && p.ahead(1).kind == kindString:
		p.importText()
		return
	case t.text == "_" && p.ahead(1).is("="):
		p.take()
		p.take()
		add(&Assign{Pos: t.pos, Op: "=", Right: p.expression()})
		p.endStmt()
		return
	}
	p.exprStmt(b)
}

// addBlock adds a block or an if. It is also the value of b if nothing follows it.
func (p *parser) addBlock(b *body, s Stmt, x Expr, hasValue bool) {
	if hasValue && p.peek().is("}") {
		b.result, b.last = x, s
		return
	}
	p.got(";")
	b.stmts = append(b.stmts, s)
}

// exprStmt parses an assignment or an expression.
func (p *parser) exprStmt(b *body) {
	x := p.expression()
	op := p.peek()
	if !assigns(op) {
		s := &ExprStmt{Pos: x.Position(), X: x}
		if p.peek().is("}") {
			b.result, b.last = x, s
			return
		}
		b.stmts = append(b.stmts, s)
		p.checkKeyword(x)
		p.endStmt()
		return
	}
	switch x := x.(type) {
	case *Var, *Map:
	case *Field, *Member, *Index:
		p.report(op, "parts of values can't be assigned to", "Make a new value and assign the whole of it.")
		panic(bailout{})
	default:
		p.report(token{pos: x.Position()}, "only variables and maps can be assigned to", "Names of variables begin with $, those of maps with @.")
		panic(bailout{})
	}
	p.take()
	b.stmts = append(b.stmts, &Assign{Pos: x.Position(), Op: op.text, Left: x, Right: p.expression()})
	p.endStmt()
}

// checkKeyword fails if x is a call before a block, such as whille (1) { … }. It suggests a
// keyword.
func (p *parser) checkKeyword(x Expr) {
	call, ok := x.(*Call)
	if !ok || !p.peek().is("{") {
		return
	}
	p.report(token{pos: call.Pos}, fmt.Sprintf("no block can follow the call of %s", call.Func),
		didYouMean(call.Func, "if", "while", "for", "unroll"))
	panic(bailout{})
}

func assigns(t token) bool {
	if t.kind != kindOp {
		return false
	}
	switch t.text {
	case "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=":
		return true
	}
	return false
}

// endStmt consumes the semicolon after a statement. If it is missing, parsing continues with the
// next statement.
func (p *parser) endStmt() {
	t := p.peek()
	switch {
	case p.got(";") || t.is("}"):
	case t.kind == kindName || t.kind == kindVar || t.kind == kindMap:
		p.report(t, `expected ";" before `+t.found(), "")
	default:
		p.unexpected(`";" or "}"`)
	}
}

// let parses let $x : type = value.
func (p *parser) let() *Let {
	p.take()
	t := p.peek()
	if t.kind != kindVar {
		p.unexpected(`a variable after "let"`)
	}
	p.take()
	l := &Let{Pos: t.pos, Name: t.text}
	if p.got(":") {
		l.Type = p.typeExpr()
	}
	if p.got("=") {
		l.Value = p.expression()
	}
	return l
}

// forLoop parses for ($kv : @map) { … } and for ($i : first..end) { … }.
func (p *parser) forLoop() Stmt {
	t := p.take()
	paren := p.got("(")
	v := p.peek()
	if v.kind != kindVar {
		p.unexpected("a variable: for ($kv : @map)")
	}
	p.take()
	if equals := p.peek(); equals.is("=") {
		p.report(equals, "a loop has no start, condition and step here", "for ($i : 0..10) { … } counts, while (…) { … } repeats.")
		for next := p.peek(); !next.is("{") && next.kind != kindEnd; next = p.peek() {
			p.take()
		}
		return p.block()
	}
	p.expect(":")
	first := p.unary()
	var end Expr
	if p.got("..") {
		end = p.unary()
	}
	if paren {
		p.expect(")")
	}
	if end != nil {
		return &ForRange{Pos: t.pos, Var: v.text, First: first, End: end, Body: p.block()}
	}
	m, ok := first.(*Map)
	if !ok {
		p.failAt(first.Position(), "for goes over a map or a range such as 0..10")
	}
	return &ForMap{Pos: t.pos, Var: v.text, Map: m, Body: p.block()}
}

// condition parses what follows if, while and unroll.
func (p *parser) condition() Expr {
	if !p.got("(") {
		return p.expression()
	}
	x := p.expression()
	p.expect(")")
	return x
}

// branch is an if, which may be a statement or a value.
type branch struct {
	pos   Pos
	cond  Expr
	then  body
	other *body   // else { … }
	next  *branch // else if
}

func (p *parser) branch() *branch {
	p.enter()
	defer p.leave()
	b := &branch{pos: p.take().pos}
	b.cond = p.condition()
	b.then = p.body()
	if !p.gotName("else") {
		return b
	}
	switch t := p.peek(); {
	case t.isName("if"):
		b.next = p.branch()
	case t.is("{"):
		other := p.body()
		b.other = &other
	default:
		p.unexpected(`"{" or "if" after "else"`)
	}
	return b
}

func (b *branch) stmt() *If {
	s := &If{Pos: b.pos, Cond: b.cond, Then: b.then.block()}
	switch {
	case b.next != nil:
		s.Else = b.next.stmt()
	case b.other != nil:
		s.Else = b.other.block()
	}
	return s
}

// hasValue reports whether every path through b ends in an expression.
func (b *branch) hasValue() bool {
	switch {
	case b.then.result == nil:
		return false
	case b.next != nil:
		return b.next.hasValue()
	}
	return b.other != nil && b.other.result != nil
}

// expr returns b as a value. b must have one (see hasValue).
func (b *branch) expr() *Ternary {
	x := &Ternary{Pos: b.pos, Cond: b.cond, Then: b.then.expr()}
	switch {
	case b.next != nil:
		x.Else = b.next.expr()
	case b.other != nil:
		x.Else = b.other.expr()
	}
	return x
}
