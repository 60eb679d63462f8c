package syntax

// constantOf evaluates the tokens of from, which must be one constant expression.
func (p *parser) constantOf(from *preprocessor, tok token, name func(string) (int64, bool)) int64 {
	sub := &parser{options: p.options, pre: from, program: p.program, shared: p.shared, depth: p.depth}
	var value int64
	sub.try(func() {
		x := sub.ternary()
		if t := sub.peek(); t.kind != kindEnd {
			sub.fail(t, "%s does not belong in this condition", t.found())
		}
		value = sub.constant(tok, x, name)
	})
	return value
}

// enumerators looks up enum constants that the program has defined so far.
func (p *parser) enumerators(name string) (int64, bool) {
	v, ok := p.shared.enumerators[name]
	return v, ok
}

// constant evaluates a C expression without variables. name returns the values of names.
func (p *parser) constant(tok token, x Expr, name func(string) (int64, bool)) int64 {
	eval := func(x Expr) int64 { return p.constant(tok, x, name) }
	switch x := x.(type) {
	case *Int:
		if x.Negative {
			return -int64(x.Value)
		}
		return int64(x.Value)
	case *Bool:
		return truth(x.Value)
	case *Ident:
		if v, ok := name(x.Name); ok {
			return v
		}
		p.failAt(x.Pos, "%s is no constant that this program defines", x.Name)
	case *Call:
		if v, ok := name(x.Func); ok { // in #if, a macro that is not defined
			return v
		}
	case *Ternary:
		switch c := eval(x.Cond); {
		case c == 0:
			return eval(x.Else)
		case x.Then == nil:
			return c
		}
		return eval(x.Then)
	case *Unary:
		switch v := eval(x.X); x.Op {
		case "-":
			return -v
		case "+":
			return v
		case "~":
			return ^v
		case "!":
			return truth(v == 0)
		}
	case *Binary:
		a := eval(x.X)
		if x.Op == "&&" && a == 0 || x.Op == "||" && a != 0 {
			return truth(a != 0)
		}
		return p.operate(x, a, eval(x.Y))
	}
	p.failAt(x.Position(), "this is no constant")
	return 0
}

func (p *parser) operate(x *Binary, a, b int64) int64 {
	switch x.Op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "/", "%":
		if b == 0 {
			p.failAt(x.Pos, "this divides by 0")
		}
		if x.Op == "/" {
			return a / b
		}
		return a % b
	case "<<":
		return a << uint64(b&63)
	case ">>":
		return a >> uint64(b&63)
	case "&":
		return a & b
	case "|":
		return a | b
	case "^":
		return a ^ b
	case "&&", "||":
		return truth(b != 0)
	case "==":
		return truth(a == b)
	case "!=":
		return truth(a != b)
	case "<":
		return truth(a < b)
	case ">":
		return truth(a > b)
	case "<=":
		return truth(a <= b)
	}
	return truth(a >= b)
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}
