package syntax

import (
	"fmt"
	"slices"
	"strings"
)

// Options configure Parse.
type Options struct {
	// Positional are the parameters $1, $2, …. Parse replaces them in attach points only.
	Positional []string

	// process says that a process was given (-p, -c), so a uprobe may leave out the file.
	process bool

	// Defines are predefined macros with their values, such as BPFTRACE_HAVE_BTF.
	Defines map[string]string

	// Includes are headers given on the command line.
	Includes []string

	// Header reads a header, given by #include <path> or on the command line, from the command
	// line's directories. If Header is nil or returns false, the kernel's types replace the header.
	Header func(path string) (name, text string, ok bool)

	// Import reads a file that the text called from imports, or includes in quotes. It also returns
	// the name for messages. If it is nil, imports are an error.
	Import func(from, path string) (name, text string, err error)
}

// The limits of a program.
const (
	maxText    = 1 << 20 // bytes per text
	maxSources = 256
	maxNesting = 200  // nesting depth of parentheses, blocks and prefix operators
	maxChain   = 4096 // operators per expression
	maxErrors  = 20
)

// Parse parses a program. If it is wrong, the error is an *Errors, and the Program contains only
// Sources.
func Parse(name, text string, options Options) (*Program, error) {
	shared := &shared{
		enumerators: map[string]int64{},
		imported:    map[string]bool{name: true},
		defined:     map[definitionKey]bool{},
	}
	p := &parser{options: options, program: &Program{}, shared: shared}
	p.program.Sources = append(p.program.Sources, Source{name, text})
	p.parseText(Source{name, text})
	if len(shared.errors) > 0 {
		return &Program{Sources: p.program.Sources}, &Errors{List: shared.errors, Sources: p.program.Sources}
	}
	return p.program, nil
}

// shared is the state that the parsers of a program and of its imports share.
type shared struct {
	errors      []*Error
	enumerators map[string]int64
	imported    map[string]bool
	defined     map[definitionKey]bool
	anonymous   int // number of anonymous types so far
	speculated  int // number of tokens that were read more than once
	aborted     bool
}

// parser parses one text.
type parser struct {
	options Options
	pre     *preprocessor
	program *Program
	shared  *shared

	tokens   []token // read ahead; those before i are consumed
	i        int
	depth    int
	chain    int  // number of operators in the current expression
	within   int  // nesting depth of expressions
	imported bool // the text is imported
	header   bool // the text is a C header
}

// bailout is the panic value of fail, after it has recorded an error.
type bailout struct{}

// report records an error at t.
func (p *parser) report(t token, msg, hint string) {
	s := p.shared
	if s.aborted {
		return
	}
	s.errors = append(s.errors, &Error{Pos: t.pos, Len: t.length, Msg: msg, Hint: hint})
	if len(s.errors) >= maxErrors {
		s.aborted = true
	}
}

// fail records an error and unwinds to the innermost try.
func (p *parser) fail(t token, format string, args ...any) {
	p.report(t, fmt.Sprintf(format, args...), "")
	panic(bailout{})
}

func (p *parser) failAt(pos Pos, format string, args ...any) {
	p.fail(token{pos: pos}, format, args...)
}

// abort records an error and ends parsing.
func (p *parser) abort(t token, format string, args ...any) {
	p.report(t, fmt.Sprintf(format, args...), "")
	p.shared.aborted = true
	panic(bailout{})
}

// try calls f and reports whether it returned, instead of calling fail.
func (p *parser) try(f func()) (ok bool) {
	depth, within := p.depth, p.within
	defer func() {
		if r := recover(); r != nil {
			if _, is := r.(bailout); !is {
				panic(r)
			}
			p.depth, p.within, ok = depth, within, false
		}
	}()
	f()
	return true
}

// enter guards against deep nesting. The caller defers leave.
func (p *parser) enter() {
	if p.depth++; p.depth > maxNesting {
		p.abort(p.peek(), "the program nests more than %d levels deep", maxNesting)
	}
}

func (p *parser) leave() { p.depth-- }

// peek returns the next token without consuming it.
func (p *parser) peek() token { return p.ahead(0) }

// ahead returns the n-th token after the next one, without consuming any.
func (p *parser) ahead(n int) token {
	for len(p.tokens) <= p.i+n {
		p.tokens = append(p.tokens, p.pre.next())
	}
	return p.tokens[p.i+n]
}

func (p *parser) take() token {
	t := p.peek()
	if t.kind != kindEnd {
		p.i++
	}
	return t
}

func (p *parser) got(op string) bool {
	if p.peek().is(op) {
		p.i++
		return true
	}
	return false
}

func (p *parser) gotName(name string) bool {
	if p.peek().isName(name) {
		p.i++
		return true
	}
	return false
}

// expect consumes an operator that must come next.
func (p *parser) expect(op string) token {
	t := p.peek()
	if !t.is(op) {
		p.unexpected(`"` + op + `"`)
	}
	return p.take()
}

// name consumes the next token, which must be a name. expected describes it in the error message.
func (p *parser) name(expected string) token {
	if p.peek().kind != kindName {
		p.unexpected(expected)
	}
	return p.take()
}

// unexpected fails at the next token. expected describes what should be there.
func (p *parser) unexpected(expected string) {
	t := p.peek()
	if t.kind == kindBad {
		switch t.text[0] {
		case '"', '\'':
			p.fail(t, "the quote is not closed")
		case '/':
			p.fail(t, "the comment is not closed")
		}
	}
	hint := ""
	switch {
	case t.isName("and") || t.isName("or"):
		hint = "It is written && or ||."
	case t.is("=") && (expected == `")"` || expected == `"/"` || expected == `"{"`):
		hint = "== compares, = assigns."
	}
	p.report(t, fmt.Sprintf("expected %s, found %s", expected, t.found()), hint)
	panic(bailout{})
}

// parseText parses a text and adds it to the program.
func (p *parser) parseText(s Source) {
	if !p.checkSize(token{pos: Pos{s.name, 1, 1}}, s) {
		return
	}
	p.pre = &preprocessor{lex: newLexer(s.name, s.Text), macros: map[string]*cmacro{}, once: map[string]bool{}, parser: p}
	for name, value := range p.options.Defines {
		p.pre.define(token{}, newLexer("", name+" "+value))
	}
	for _, path := range slices.Backward(p.options.Includes) { // the last one entered is read first
		if !p.try(func() { p.pre.includeSystem(token{}, path) }) {
			return
		}
	}
	for !p.shared.aborted {
		p.tokens, p.i = p.tokens[:copy(p.tokens, p.tokens[p.i:])], 0
		more := true
		if !p.try(func() { more = p.top() }) {
			p.skipTop()
		}
		if !more {
			return
		}
	}
}

// checkSize reports whether a text is short enough. If not, it records an error at t.
func (p *parser) checkSize(t token, s Source) bool {
	if len(s.Text) > maxText {
		p.report(t, fmt.Sprintf("a program has at most %d bytes, this one %d", maxText, len(s.Text)), "")
	}
	return len(s.Text) <= maxText
}

// top parses one declaration at the top level. It returns false at the end of the text.
func (p *parser) top() bool {
	switch t := p.peek(); {
	case t.kind == kindEnd:
		return false
	case t.is(";"):
		p.take()
	case t.isName("config") && p.ahead(1).is("="):
		p.config()
	case t.isName("import"):
		p.importText()
	case t.isName("macro") && p.ahead(1).kind == kindName:
		p.macro()
	case t.isName("fn") && p.ahead(1).kind == kindName:
		p.function()
	case t.isName("let"):
		p.mapDecl()
	case p.atDefinition():
		p.definition()
	default:
		p.probe()
	}
	return true
}

// skipTop continues after an error: after the next block, or after a semicolon before that.
func (p *parser) skipTop() {
	depth := depthOf(p.tokens[:p.i])
	for !p.shared.aborted {
		var t token
		if !p.try(func() { t = p.take() }) {
			continue
		}
		depth += t.brace()
		switch {
		case t.kind == kindEnd, t.is("}") && depth <= 0, t.is(";") && depth == 0:
			return
		}
	}
}

// load reads a file that is imported or included in quotes.
func (p *parser) load(tok token, path string) (Source, bool) {
	if p.options.Import == nil {
		p.report(tok, "this program can't read other files", "")
		return Source{}, false
	}
	if len(p.program.Sources) >= maxSources {
		p.abort(tok, "the program reads more than %d files", maxSources)
	}
	name, text, err := p.options.Import(tok.pos.File, path)
	if err != nil {
		p.report(tok, fmt.Sprintf("can't read %q: %v", path, err), "")
		return Source{}, false
	}
	return p.source(tok, name, text)
}

// source adds a text to the program's sources, which messages quote.
func (p *parser) source(tok token, name, text string) (Source, bool) {
	s := Source{name, text}
	if !slices.ContainsFunc(p.program.Sources, func(other Source) bool { return other.name == name }) {
		p.program.Sources = append(p.program.Sources, s)
	}
	return s, p.checkSize(tok, s)
}

// importText parses import "x.bt"; and the imported file in its place.
func (p *parser) importText() {
	p.take()
	t := p.peek()
	path := p.str(`the file in quotes after "import"`)
	p.got(";")
	if strings.HasSuffix(path, ".c") {
		p.report(t, "ringtap can't import C code, which needs bpf(2)", "Write the function as a macro or with fn.")
		return
	}
	s, ok := p.load(t, path)
	if !ok || p.shared.imported[s.name] {
		return
	}
	p.shared.imported[s.name] = true
	sub := &parser{options: p.options, program: p.program, shared: p.shared, imported: true, header: strings.HasSuffix(path, ".h")}
	sub.parseText(s)
}
