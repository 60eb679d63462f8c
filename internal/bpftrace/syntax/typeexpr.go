package syntax

import (
	"slices"
	"strings"
)

// typeExpr parses a type in the language's order: a base, then pointers and arrays.
func (p *parser) typeExpr() *TypeExpr {
	p.enter()
	defer p.leave()
	t := p.peek()
	typ := &TypeExpr{Pos: t.pos}
	switch {
	case t.is("("):
		p.take()
		for !p.got(")") {
			typ.Tuple = append(typ.Tuple, p.typeExpr())
			if !p.got(",") && !p.peek().is(")") {
				p.unexpected(`"," or ")"`)
			}
		}
		if typ.Tuple == nil {
			typ.Tuple = []*TypeExpr{}
		}
	case t.isName("typeof") && p.ahead(1).is("("):
		p.take()
		p.take()
		inner, x := p.typeOrExpr()
		p.expect(")")
		if typ.Typeof = x; inner != nil {
			typ = inner
		}
	default:
		typ.Base = p.baseType()
	}
	p.suffixes(typ)
	return typ
}

// suffixes parses the pointers and arrays of a type.
func (p *parser) suffixes(typ *TypeExpr) {
	for {
		switch t := p.peek(); {
		case t.is("*"):
			p.take()
			typ.Modifiers = append(typ.Modifiers, Modifier{Pointer: true})
		case t.is("["):
			typ.Modifiers = append(typ.Modifiers, Modifier{Len: p.arrayLen()})
		case t.isName("const") || t.isName("volatile"):
			p.take()
		default:
			return
		}
		p.link(p.peek())
	}
}

// maxLen bounds the length of arrays, strings and buffers in types.
const maxLen = 1 << 30

// arrayLen parses [n] or []. It returns -1 for the latter.
func (p *parser) arrayLen() int {
	p.expect("[")
	if p.got("]") {
		return -1
	}
	t := p.peek()
	n := p.constant(t, p.ternary(), p.enumerators)
	if n < 0 || n > maxLen {
		p.fail(t, "an array has 0 to %d elements, not %d", maxLen, n)
	}
	p.expect("]")
	return int(n)
}

// baseType parses a type's name, which may have several words in C.
func (p *parser) baseType() string {
	p.qualifiers()
	t := p.name("a type")
	switch t.text {
	case "struct", "union", "enum":
		return t.text + " " + p.name("the name of the "+t.text).text
	}
	words := []string{t.text}
	for isArithmetic(t.text) {
		p.qualifiers()
		if next := p.peek(); next.kind != kindName || !isArithmetic(next.text) {
			break
		}
		words = append(words, p.take().text)
	}
	p.qualifiers()
	return strings.Join(words, " ")
}

// qualifiers skips words that do not affect a type's layout.
func (p *parser) qualifiers() {
	for t := p.peek(); t.kind == kindName; t = p.peek() {
		switch t.text {
		case "const", "volatile", "restrict", "__restrict", "__user", "__kernel", "__rcu", "__percpu", "__iomem", "__extension__", "_Atomic":
			p.take()
		default:
			return
		}
	}
}

// isArithmetic reports whether C composes type names from word.
func isArithmetic(word string) bool {
	switch word {
	case "unsigned", "signed", "__signed__", "long", "short", "int", "char", "double", "float", "_Bool", "__int128":
		return true
	}
	return false
}

// speculate calls f, which may consume tokens. If f returns false or fails, speculate restores the
// position and drops f's errors.
func (p *parser) speculate(f func() bool) bool {
	i, errors := p.i, len(p.shared.errors)
	found := false
	ok := p.try(func() { found = f() })
	if p.shared.aborted {
		panic(bailout{})
	}
	if ok && found {
		return true
	}
	if p.shared.speculated += p.i - i; p.shared.speculated > maxText {
		p.abort(p.tokens[i], "this expression is too hard to read")
	}
	p.i, p.shared.errors = i, p.shared.errors[:errors]
	return false
}

// typeOrExpr parses the argument of sizeof, offsetof and typeof, up to a comma or parenthesis. A
// bare name is a type, unless it is a builtin.
func (p *parser) typeOrExpr() (*TypeExpr, Expr) {
	var typ *TypeExpr
	if p.typeStarts() && p.speculate(func() bool {
		typ = p.typeExpr()
		t := p.peek()
		return t.is(")") || t.is(",")
	}) {
		return typ, nil
	}
	return nil, p.expression()
}

// typeStarts reports whether the next token may start a type.
func (p *parser) typeStarts() bool {
	t := p.peek()
	return t.kind == kindName && !isBuiltin(t.text)
}

// castType parses the type of a cast and its closing parenthesis. It returns nil if this is not a
// cast.
func (p *parser) castType() *TypeExpr {
	if !p.typeStarts() {
		return nil
	}
	if _, is := p.enumerators(p.peek().text); is && p.ahead(1).is(")") {
		return nil
	}
	var typ *TypeExpr
	if !p.speculate(func() bool {
		typ = p.typeExpr()
		if !p.got(")") {
			return false
		}
		t := p.peek()
		return startsExpression(t) || (t.is("++") || t.is("--")) && startsExpression(p.ahead(1))
	}) {
		return nil
	}
	return typ
}

// startsExpression reports whether the operand of a cast may start with t.
func startsExpression(t token) bool {
	switch t.kind {
	case kindNumber, kindString, kindChar, kindVar, kindMap, kindPositional, kindCount:
		return true
	case kindName:
		return t.text != "else"
	case kindOp:
		return slices.Contains([]string{"(", "-", "!", "~", "*", "&"}, t.text)
	}
	return false
}

// isBuiltin reports whether name is a value, and therefore does not start a type.
func isBuiltin(name string) bool {
	switch name {
	case "args", "ctx", "kstack", "ustack", "nsecs", "pid", "tid", "true", "false",
		"comm", "cpid", "cpu", "curtask", "elapsed", "func", "gid", "uid", "cgroup", "ncpus",
		"numaid", "ppid", "pcomm", "probe", "rand", "retval", "username", "usermode", "jiffies",
		"sizeof", "offsetof", "comptime", "if":
		return true
	}
	number, ok := strings.CutPrefix(strings.TrimPrefix(name, "s"), "arg")
	return ok && number != "" && strings.Trim(number, "0123456789") == "" || strings.HasPrefix(name, "__builtin_")
}
