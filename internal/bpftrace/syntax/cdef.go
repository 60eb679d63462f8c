package syntax

import (
	"strconv"
	"strings"
)

// defines reports whether t starts a definition of a C type.
func (t token) defines() bool {
	switch t.text {
	case "struct", "union", "enum", "typedef", "__extension__":
		return t.kind == kindName
	}
	return false
}

// atDefinition reports whether a C declaration comes next.
func (p *parser) atDefinition() bool {
	t := p.peek()
	return t.defines() || t.isName("extern") || t.isName("static") ||
		t.kind == kindName && p.inHeader() && !p.ahead(1).is(":")
}

// inHeader reports whether the text is a C header, of which only the types matter.
func (p *parser) inHeader() bool { return len(p.pre.headers) > 0 || p.header }

// definition parses a C declaration. In headers, it skips declarations that define no type.
func (p *parser) definition() {
	t := p.peek()
	if !t.defines() {
		if !p.inHeader() {
			p.fail(t, "a program defines struct, union, enum and typedef only")
		}
		p.skipDeclaration()
		return
	}
	isTypedef := p.gotName("typedef")
	p.qualifiers()
	base, defines := p.specifier()
	switch {
	case isTypedef:
		p.typedef(base)
	case p.got(";"):
	case p.inHeader():
		p.skipDeclaration() // a variable or a function
	case p.peek().is("*") || p.peek().kind == kindName && p.ahead(1).is(";"):
		p.fail(p.peek(), "a program defines types, not variables of C")
	case !defines:
		p.unexpected(`"{" or ";"`)
	}
}

// typedef parses the names of a typedef.
func (p *parser) typedef(base *TypeExpr) {
	for {
		d := p.declarator(base)
		if d.name == "" {
			p.unexpected("the typedef's name")
		}
		if t := p.peek(); d.attributes.and(p.attributes()) != (attributes{}) {
			p.fail(t, "ringtap has no typedefs with a layout of their own")
		}
		p.define(&TypedefDef{Pos: d.pos, Name: d.name, Type: d.typ}, d.name)
		if !p.got(",") {
			break
		}
	}
	p.expect(";")
}

// skipDeclaration skips a declaration that defines no type, up to its semicolon or the end of its
// body.
func (p *parser) skipDeclaration() {
	for depth := 0; ; {
		t := p.take()
		depth += t.brace()
		if t.kind == kindEnd || depth == 0 && (t.is(";") || t.is("}") && !p.peek().is(";")) {
			return
		}
	}
}

// specifier parses the type before C's declarators, and reports whether it also defines that type.
func (p *parser) specifier() (typ *TypeExpr, defines bool) {
	p.enter()
	defer p.leave()
	p.qualifiers()
	t := p.peek()
	switch t.text {
	case "struct", "union", "enum":
	default:
		return &TypeExpr{Pos: t.pos, Base: p.baseType()}, false
	}
	p.take()
	a := p.attributes()
	name := t.text + " "
	if n := p.peek(); n.kind == kindName {
		p.take()
		name += n.text
	} else if n.is("{") {
		p.shared.anonymous++
		name += "(anonymous " + strconv.Itoa(p.shared.anonymous) + ")"
	} else {
		p.unexpected(`a name or "{"`)
	}
	a = a.and(p.attributes())
	defines = p.peek().is("{")
	switch {
	case defines && t.text == "enum":
		p.enum(t, name)
	case defines:
		p.structure(t, name, a)
	}
	p.qualifiers()
	return &TypeExpr{Pos: t.pos, Base: name}, defines
}

// structure parses the members of a struct or union.
func (p *parser) structure(t token, name string, a attributes) {
	d := &StructDef{Pos: t.pos, Name: name, Union: t.text == "union"}
	p.expect("{")
	for !p.got("}") {
		if p.got(";") {
			continue
		}
		p.field(d)
	}
	a = a.and(p.attributes())
	d.Packed, d.Align = a.packed, a.align
	p.define(d, name)
}

// definitionKey identifies a definition by position and name.
type definitionKey struct {
	pos  Pos
	name string
}

// define adds a definition to the program. A header that is included several times counts once.
func (p *parser) define(d Definition, name string) {
	key := definitionKey{d.Position(), name}
	if !p.shared.defined[key] {
		p.shared.defined[key] = true
		p.program.Definitions = append(p.program.Definitions, d)
	}
}

// field parses a declaration of members of d.
func (p *parser) field(d *StructDef) {
	before := p.attributes()
	base, defines := p.specifier()
	if defines && !isAnonymous(base.Base) && p.got(";") {
		return // defines a named type, which is no anonymous member in C
	}
	for {
		m := p.declarator(base)
		f := FieldDef{Pos: m.pos, Name: m.name, Type: m.typ}
		if p.got(":") {
			t := p.peek()
			n := p.constant(t, p.ternary(), p.enumerators)
			if n < 0 || n > 64 || n == 0 && f.Name != "" {
				p.fail(t, "a bit field has 1 to 64 bits")
			}
			f.Bits = int(n)
		} else if f.Name == "" && (!isAnonymous(base.Base) || len(m.typ.Modifiers) > 0) {
			p.unexpected("a member's name")
		}
		a := before.and(m.attributes).and(p.attributes())
		f.Packed, f.Align = a.packed, a.align
		d.Fields = append(d.Fields, f)
		if !p.got(",") {
			break
		}
	}
	if !p.peek().is("}") { // clang allows the last member without a semicolon
		p.expect(";")
	}
}

// isAnonymous reports whether name is the generated name of an anonymous struct or union.
func isAnonymous(name string) bool {
	return strings.HasPrefix(name, "struct (") || strings.HasPrefix(name, "union (")
}

// enum parses the constants of an enum.
func (p *parser) enum(t token, name string) {
	d := &EnumDef{Pos: t.pos, Name: name}
	p.expect("{")
	next := int64(0)
	for !p.got("}") {
		c := p.name("a constant")
		if p.got("=") {
			next = p.constant(c, p.ternary(), p.enumerators)
		}
		d.Values = append(d.Values, EnumValue{c.pos, c.text, next})
		p.shared.enumerators[c.text] = next
		next++
		if !p.got(",") && !p.peek().is("}") {
			p.unexpected(`"," or "}"`)
		}
	}
	if after := p.peek(); p.attributes() != (attributes{}) {
		p.fail(after, "ringtap has no enums with a layout of their own")
	}
	p.define(d, name)
}

// attributes are the __attribute__((…)) that change a layout.
type attributes struct {
	packed bool
	align  int
}

func (a attributes) and(b attributes) attributes {
	return attributes{a.packed || b.packed, max(a.align, b.align)}
}

// defaultAlign is the alignment in bytes that __attribute__((aligned)) means on amd64 and arm64.
const defaultAlign = 16

// attributes parses any number of __attribute__((…)).
func (p *parser) attributes() (a attributes) {
	p.qualifiers()
	for p.gotName("__attribute__") || p.gotName("__attribute") {
		p.expect("(")
		p.expect("(")
		for !p.got(")") {
			if p.got(",") {
				continue
			}
			t := p.name("an attribute")
			switch t.text {
			case "packed", "__packed__":
				a.packed = true
			case "aligned", "__aligned__":
				a.align = defaultAlign
				if p.got("(") {
					n := p.constant(t, p.ternary(), p.enumerators)
					if n < 1 || n > 1<<20 || n&(n-1) != 0 {
						p.fail(t, "an alignment is a power of two")
					}
					a.align = int(n)
					p.expect(")")
				}
			default:
				if p.peek().is("(") {
					p.skipParens()
				}
			}
		}
		p.expect(")")
		p.qualifiers()
	}
	return a
}

// skipParens skips ( … ).
func (p *parser) skipParens() {
	open := p.peek()
	for depth := 0; ; {
		switch t := p.take(); {
		case t.kind == kindEnd:
			p.fail(open, "this ( has no )")
		case t.is("("):
			depth++
		case t.is(")"):
			if depth--; depth == 0 {
				return
			}
		}
	}
}
