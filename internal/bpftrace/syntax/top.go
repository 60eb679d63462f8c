package syntax

import "strings"

// config parses config = { name = value; … }.
func (p *parser) config() {
	t := p.take()
	if p.imported {
		p.report(t, "only the program itself has a config block, not what it imports", "")
	}
	if p.program.Config != nil {
		p.report(t, "a program has one config block", "")
	}
	p.expect("=")
	p.expect("{")
	p.program.Config = []Setting{}
	for !p.got("}") {
		name := p.name("a setting or }")
		p.expect("=")
		s := Setting{Pos: name.pos, Name: strings.TrimPrefix(strings.ToLower(name.text), "bpftrace_")}
		switch v := p.peek(); v.kind {
		case kindName, kindNumber, kindString:
			s.Value = p.primary()
		default:
			if s.Value = p.unary(); !isInt(s.Value) {
				p.fail(v, "a setting's value is a number, a string, true, false or a word")
			}
		}
		p.program.Config = append(p.program.Config, s)
		if !p.got(";") && !p.peek().is("}") {
			p.unexpected(`";" or "}"`)
		}
	}
}

func isInt(x Expr) bool {
	_, ok := x.(*Int)
	return ok
}

// mapDecl parses let @a = lruhash(100);
func (p *parser) mapDecl() {
	t := p.take()
	name := p.peek()
	if name.kind != kindMap {
		p.report(t, "outside of a probe, let declares a map: let @a = hash(100);", "")
		panic(bailout{})
	}
	p.take()
	p.expect("=")
	d := &MapDecl{Pos: name.pos, Name: name.text, Kind: p.name("hash, lruhash, percpuhash or percpulruhash").text}
	p.expect("(")
	d.Size = p.ternary()
	p.expect(")")
	p.got(";")
	p.program.Maps = append(p.program.Maps, d)
}

// macro parses macro name($a, @b, c) { … }.
func (p *parser) macro() {
	p.take()
	name := p.take()
	m := &Macro{Pos: name.pos, Name: name.text}
	if p.got("(") {
		for !p.got(")") {
			switch t := p.peek(); t.kind {
			case kindName, kindVar, kindMap:
				m.Params = append(m.Params, MacroParam{t.pos, t.text})
				p.take()
			default:
				p.unexpected("a parameter: $variable, @map or a name")
			}
			if !p.got(",") && !p.peek().is(")") {
				p.unexpected(`"," or ")"`)
			}
		}
	}
	m.Body = p.body().expr()
	p.program.Macros = append(p.program.Macros, m)
}

// function parses fn name($a : int64) : void { … }.
func (p *parser) function() {
	p.take()
	name := p.take()
	f := &Function{Pos: name.pos, Name: name.text}
	p.expect("(")
	for !p.got(")") {
		t := p.peek()
		if t.kind != kindVar {
			p.unexpected("a parameter: $name : type")
		}
		p.take()
		p.expect(":")
		f.Params = append(f.Params, Param{t.pos, t.text, p.typeExpr()})
		if !p.got(",") && !p.peek().is(")") {
			p.unexpected(`"," or ")"`)
		}
	}
	p.expect(":")
	f.Result = p.typeExpr()
	f.Body = p.block()
	p.program.Functions = append(p.program.Functions, f)
}

// probe parses attach points, a predicate and a block.
func (p *parser) probe() {
	probe := &Probe{Pos: p.peek().pos}
	probe.Points = p.attachPoints()
	if p.got("/") {
		if !p.try(func() {
			probe.Predicate = p.expression()
			p.expect("/")
		}) {
			for t := p.peek(); !t.is("{") && t.kind != kindEnd; t = p.peek() {
				p.take()
			}
			if p.peek().kind == kindEnd {
				panic(bailout{}) // nothing is left to parse
			}
		}
	}
	probe.Body = p.block()
	p.program.Probes = append(p.program.Probes, probe)
}
