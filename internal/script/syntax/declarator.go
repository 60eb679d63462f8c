package syntax

import "slices"

// declarator is a name in a declaration of C with its type.
type declarator struct {
	pos        Pos
	name       string // "" if there is none
	typ        *TypeExpr
	attributes attributes
}

// declarator reads what C puts around a name, such as *(*a[2])[3], in the language's order.
func (p *parser) declarator(base *TypeExpr) declarator {
	d := declarator{pos: p.peek().pos}
	var mods []Modifier
	function := p.declare(&d, &mods)
	typ := *base
	if function { // of which only pointers can be members
		typ = TypeExpr{Pos: base.Pos, Base: "void"}
	}
	typ.Modifiers = slices.Concat(typ.Modifiers, mods)
	d.typ = &typ
	return d
}

// declare adds to mods what the declarator makes of its base, from the base to the name. It
// tells whether it makes a function, of which mods then are what points to it.
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
		case function: // what it returns does not matter
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
