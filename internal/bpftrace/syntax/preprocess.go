package syntax

import (
	"slices"
	"strings"
)

// The limits of macros and headers.
const (
	maxExpanded = 200_000 // tokens that macros expand to
	maxHeaders  = 64      // nesting depth of headers
	maxIncludes = 1000    // number of kernel headers
	maxMacros   = 20_000
	maxParams   = 256
	maxOrigins  = 200 // nesting depth of macros
)

// cmacro is a macro that #define defines.
type cmacro struct {
	function bool
	params   []string
	body     []token
}

// preprocessor returns the tokens of a text. It executes #define, #if and #include and expands
// macros. A directive may be anywhere in a program, not only at its top.
type preprocessor struct {
	lex      *lexer
	headers  []*lexer // texts that include the current one, innermost last
	macros   map[string]*cmacro
	once     map[string]bool // headers with #pragma once
	conds    []condition
	pending  []token // tokens from macros, in reverse order
	expanded int
	parser   *parser // for messages, headers and constants

	headersDone bool // the macros of system headers are defined
}

// condition is an open #if.
type condition struct {
	pos   Pos
	taken bool // one of its branches has been taken
	depth int  // number of open headers at the #if
}

func (p *preprocessor) raw() token {
	if n := len(p.pending); n > 0 {
		t := p.pending[n-1]
		p.pending = p.pending[:n-1]
		return t
	}
	for {
		t := p.lex.next()
		switch {
		case t.kind == kindDirective:
			p.directive(t)
		case t.kind == kindEnd && p.leave():
		default:
			return t
		}
	}
}

// leave ends a text and continues with the one that included it. It returns false if there is none.
// An open #if is an error.
func (p *preprocessor) leave() bool {
	for n := len(p.conds); n > 0 && p.conds[n-1].depth == len(p.headers); n-- {
		p.parser.report(token{pos: p.conds[n-1].pos, length: 1}, "this #if has no #endif", "")
		p.conds = p.conds[:n-1]
	}
	n := len(p.headers)
	if n == 0 {
		return false
	}
	p.lex, p.headers = p.headers[n-1], p.headers[:n-1]
	return true
}

// next returns the next token after macro expansion.
func (p *preprocessor) next() token {
	for {
		t := p.raw()
		m := p.macros[t.text]
		if t.kind != kindName || m == nil || t.hidden.has(t.text) {
			return t
		}
		var args [][]token
		if m.function {
			open := p.raw()
			if !open.is("(") {
				p.pending = append(p.pending, open)
				return t
			}
			args = p.arguments(t)
		}
		p.expand(t, m, args)
	}
}

// arguments parses the arguments of a macro, up to the closing parenthesis.
func (p *preprocessor) arguments(name token) [][]token {
	args := [][]token{nil}
	for depth := 0; ; {
		t := p.raw()
		last := len(args) - 1
		switch {
		case t.kind == kindEnd || len(args) > maxParams || len(args[last]) > maxExpanded:
			p.parser.fail(name, "the arguments of the macro %s do not end", name.text)
		case t.is(")") && depth == 0:
			return args
		case t.is(",") && depth == 0:
			args = append(args, nil)
			continue
		case t.is("("):
			depth++
		case t.is(")"):
			depth--
		}
		args[last] = append(args[last], t)
	}
}

// expand replaces t by the body of the macro m.
func (p *preprocessor) expand(t token, m *cmacro, args [][]token) {
	if m.function && len(m.params) == 0 && len(args) == 1 && len(args[0]) == 0 {
		args = nil
	}
	if len(args) != len(m.params) {
		p.parser.fail(t, "the macro %s takes %d arguments, not %d", t.text, len(m.params), len(args))
	}
	hidden := t.hidden.add(t.text)
	if hidden.depth > maxOrigins {
		p.parser.abort(t, "macros stand for each other more than %d levels deep", maxOrigins)
	}
	var out []token
	for _, b := range m.body {
		if i := slices.Index(m.params, b.text); i >= 0 && b.kind == kindName {
			out = append(out, args[i]...)
		} else {
			b.pos, b.off, b.length, b.hidden = t.pos, t.off, t.length, hidden
			out = append(out, b)
		}
		if p.expanded+len(out) > maxExpanded {
			p.parser.abort(t, "the macro %s grows too large", t.text)
		}
	}
	p.expanded += len(out) + 1
	slices.Reverse(out)
	p.pending = append(p.pending, out...)
}

// directive executes a preprocessor line.
func (p *preprocessor) directive(t token) {
	line := newLexer(t.pos.File, t.text)
	word := line.next()
	at := t
	at.length = 1 + word.off + word.length
	switch word.text {
	case "define":
		p.define(at, line)
	case "undef":
		delete(p.macros, line.next().text)
	case "include":
		p.include(at, strings.TrimSpace(t.text[line.off:]))
	case "if", "ifdef", "ifndef":
		p.conds = append(p.conds, condition{pos: t.pos, depth: len(p.headers)})
		p.branch(at, word.text, line)
	case "elif", "else", "endif":
		if n := len(p.conds); n == 0 || p.conds[n-1].depth != len(p.headers) {
			p.parser.report(at, "there is no #if before this #"+word.text, "")
		} else if word.text == "endif" {
			p.conds = p.conds[:n-1]
		} else {
			p.skip() // the previous branch was taken
		}
	case "pragma":
		if line.next().text == "once" {
			p.once[t.pos.File] = true
		}
	case "error":
		p.parser.report(at, "#error "+strings.TrimSpace(t.text[line.off:]), "")
	case "", "line", "warning", "ident":
	default:
		p.parser.report(at, "there is no #"+shorten(word.text, 40)+" in C's preprocessor", "")
	}
}

// branch enters the branch of an #if, #ifdef or #ifndef if its condition holds. Otherwise it skips
// to the next branch that applies.
func (p *preprocessor) branch(tok token, word string, line *lexer) {
	c := &p.conds[len(p.conds)-1]
	holds := true
	switch word {
	case "ifdef":
		holds = p.macros[line.next().text] != nil
	case "ifndef":
		holds = p.macros[line.next().text] == nil
	case "if", "elif":
		holds = p.condition(tok, line)
	}
	if holds {
		c.taken = true
	} else {
		p.skip()
	}
}

// skip skips lines up to the branch to take, or to #endif.
func (p *preprocessor) skip() {
	l := p.lex
	for depth := 0; l.off < len(l.text); {
		l.skipLine()
		if l.off < len(l.text) {
			l.newline()
		}
		blanks := len(l.text[l.off:]) - len(strings.TrimLeft(l.text[l.off:], " \t\r"))
		l.off += blanks
		if l.off == len(l.text) || l.text[l.off] != '#' {
			continue
		}
		at := token{pos: l.pos(), off: l.off, length: 1}
		l.off++
		line := newLexer(l.file, l.logicalLine())
		word := line.next().text
		c := &p.conds[len(p.conds)-1]
		switch {
		case word == "if" || word == "ifdef" || word == "ifndef":
			depth++
		case word == "endif" && depth == 0:
			p.conds = p.conds[:len(p.conds)-1]
			return
		case word == "endif":
			depth--
		case depth == 0 && !c.taken && (word == "else" || word == "elif" && p.condition(at, line)):
			c.taken = true
			return
		}
	}
}

// condition evaluates the rest of a line. Undefined names are 0, as in C.
func (p *preprocessor) condition(tok token, line *lexer) bool {
	var tokens []token
	for t := line.next(); t.kind != kindEnd; t = line.next() {
		if t.isName("defined") {
			name := line.next()
			if name.is("(") {
				name = line.next()
				line.next()
			}
			t = token{kind: kindNumber, text: "0"}
			if p.macros[name.text] != nil {
				t.text = "1"
			}
		}
		t.pos, t.off, t.length = tok.pos, tok.off, tok.length
		tokens = append(tokens, t)
	}
	slices.Reverse(tokens)
	sub := &preprocessor{lex: newLexer(tok.pos.File, ""), macros: p.macros, pending: tokens, expanded: p.expanded, parser: p.parser}
	value := p.parser.constantOf(sub, tok, func(string) (int64, bool) { return 0, true })
	p.expanded = sub.expanded
	return value != 0
}

// define parses the rest of a #define.
func (p *preprocessor) define(tok token, line *lexer) {
	name := line.next()
	if name.kind != kindName {
		p.parser.report(tok, "#define needs a name", "")
		return
	}
	m := &cmacro{}
	if line.off < len(line.text) && line.text[line.off] == '(' {
		m.function = true
		line.next()
		for t := line.next(); !t.is(")"); t = line.next() {
			if t.is(",") {
				continue
			}
			if t.kind != kindName || len(m.params) == maxParams {
				p.parser.report(tok, "a macro's parameters are names", "ringtap has no macros with a variable number of arguments.")
				return
			}
			m.params = append(m.params, t.text)
		}
	}
	for t := line.next(); t.kind != kindEnd; t = line.next() {
		m.body = append(m.body, t)
	}
	if len(p.macros) < maxMacros {
		p.macros[name.text] = m
	}
}

// include records a system header, or reads a header of the program. header includes its
// delimiters, <> or "".
func (p *preprocessor) include(tok token, header string) {
	open, path, ok := "", "", false
	if header != "" {
		open = header[:1]
		path, _, ok = strings.Cut(header[1:], map[string]string{"<": ">", `"`: `"`}[open])
	}
	switch {
	case !ok || path == "" || open != "<" && open != `"`:
		p.parser.report(tok, `#include needs <header> or "header"`, "")
	case open == "<":
		p.includeSystem(tok, path)
	default:
		if source, ok := p.parser.load(tok, path); ok {
			p.enterHeader(tok, source)
		}
	}
}

// includeSystem reads a header from the command line's directories. If it is not there, it records
// it as a kernel header.
func (p *preprocessor) includeSystem(tok token, path string) {
	p.defineHeaders()
	if read := p.parser.options.Header; read != nil {
		if name, text, ok := read(path); ok {
			if source, ok := p.parser.source(tok, name, text); ok {
				p.enterHeader(tok, source)
			}
			return
		}
	}
	include := include{Pos: tok.pos, path: path}
	if len(p.parser.program.includes) == maxIncludes {
		p.parser.abort(tok, "the program includes more than %d headers", maxIncludes)
	}
	if !slices.Contains(p.parser.program.includes, include) {
		p.parser.program.includes = append(p.parser.program.includes, include)
	}
}

// enterHeader continues with the text of a header.
func (p *preprocessor) enterHeader(tok token, s Source) {
	if len(p.headers) >= maxHeaders {
		p.parser.abort(tok, "headers include each other too deeply")
	}
	if !p.once[s.name] {
		p.headers = append(p.headers, p.lex)
		p.lex = newLexer(s.name, s.Text)
	}
}
