package syntax

import "slices"

// declarator is a name in a C declaration, with its type.
type declarator struct {
	pos        Pos
	name       string // "" if there is none
	typ        *TypeExpr
	attributes attributes
}

// declarator parses C's notation around a name, such as *(*a[2])[3], into the language's order.
func (p *parser) declarator(base *TypeExpr) declarator {
	d := declarator{pos: p.peek().pos}
	var mods []Modifier
	function := p.declare(&d, &mods)
	typ := *base
	if function { // only a pointer to a function can be a member
		typ = TypeExpr{Pos: base.Pos, Base: "void"}
	}
	typ.Modifiers = slices.Concat(typ.Modifiers, mods)
	d.typ = &typ
	return d
}

// declare appends the modifiers of a declarator to mods, in order from the base type to the name.
// function says that the declarator is a function. mods are then the pointers to it.
func (p *parser) declare(d *declarator, mods *[]Modifier) (function bool) {
	p.enter()
	defer p.leave()
	for p.qualifiers(); p.got("*"); p.qualifiers() {
		*mods = append(*mods, Modifier{Pointer: true})
	}
	d.attributes = d.attributes.and(p.attributes())
	var inner []Modifier
	switch t := p.peek(); {
	case t.is("("):
		p.take()
		function = p.declare(d, &inner)
		p.expect(")")
	case t.kind == kindName:
		p.take()
		d.pos, d.name = t.pos, t.text
	}
	var arrays []Modifier
	for {
		switch t := p.peek(); {
		case t.is("["):
			arrays = append(arrays, Modifier{Len: p.arrayLen()})
		case t.is("("):
			p.skipParens()
			function = true
		case function: // the result type does not matter
			*mods = inner
			return true
		default:
			slices.Reverse(arrays)
			*mods = slices.Concat(*mods, arrays, inner)
			return false
		}
		p.link(p.peek())
	}
}
