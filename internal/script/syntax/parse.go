package syntax

import (
	"fmt"
	"slices"
	"strings"
)

// Options of Parse.
type Options struct {
	// Positional are the parameters $1, $2, … They are put in attach points only.
	Positional []string

	// Process tells that a process was named (-p, -c), whose file a uprobe may leave out.
	Process bool

	// Defines are macros, as -D's: NAME and what it stands for. BPFTRACE_HAVE_BTF is one.
	Defines map[string]string

	// Includes are headers named on the command line.
	Includes []string

	// Header reads a header that #include <path> names, or that is named on the command line,
	// from the directories of the command line. If it is nil or returns false, the kernel's own
	// types stand for the header.
	Header func(path string) (name, text string, ok bool)

	// Import reads what the text of the name from imports, or includes in quotes. It returns
	// the name that messages use. If it is nil, imports are refused.
	Import func(from, path string) (name, text string, err error)
}

// Bounds of a program.
const (
	maxText    = 1 << 20 // bytes of one text
	maxSources = 256
	maxNesting = 200  // parentheses, blocks and operators before their operand within each other
	maxChain   = 4096 // operators of one expression
	maxErrors  = 20
)

// Parse reads a program. If something is wrong with it, the error is an *Errors; the Program
// then has its Sources only.
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

// shared is what the parsers of a program and of its imports have in common.
type shared struct {
	errors      []*Error
	enumerators map[string]int64
	imported    map[string]bool
	defined     map[definitionKey]bool
	anonymous   int // anonymous types that have got a name
	speculated  int // tokens that were read more than once
	aborted     bool
}

// parser reads one text.
type parser struct {
	options Options
	pre     *preprocessor
	program *Program
	shared  *shared

	tokens   []token // read ahead; those before i are done
	i        int
	depth    int
	chain    int  // operators of the expression
	within   int  // expressions within each other
	imported bool // the text is imported
	header   bool // the text is a header of C
}

// bailout is what fail panics with, after it has recorded an error.
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

// fail records an error and leaves what try has called.
func (p *parser) fail(t token, format string, args ...any) {
	p.report(t, fmt.Sprintf(format, args...), "")
	panic(bailout{})
}

func (p *parser) failAt(pos Pos, format string, args ...any) {
	p.fail(token{pos: pos}, format, args...)
}

// abort records an error that ends the reading of the program.
func (p *parser) abort(t token, format string, args ...any) {
	p.report(t, fmt.Sprintf(format, args...), "")
	p.shared.aborted = true
	panic(bailout{})
}

// try calls f and tells whether it came to its end.
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

// enter guards against texts that nest too deeply. The caller defers leave.
func (p *parser) enter() {
	if p.depth++; p.depth > maxNesting {
		p.abort(p.peek(), "the program nests more than %d levels deep", maxNesting)
	}
}

func (p *parser) leave() { p.depth-- }

// peek returns the next token without taking it.
func (p *parser) peek() token { return p.ahead(0) }

// ahead returns the token n after the next.
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

// expect takes an operator that must be there.
func (p *parser) expect(op string) token {
	t := p.peek()
	if !t.is(op) {
		p.unexpected(`"` + op + `"`)
	}
	return p.take()
}

// name takes a name that must be there.
func (p *parser) name(what string) token {
	if p.peek().kind != kindName {
		p.unexpected(what)
	}
	return p.take()
}

// unexpected fails at the next token. what was expected there.
func (p *parser) unexpected(what string) {
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
	case t.is("=") && (what == `")"` || what == `"/"` || what == `"{"`):
		hint = "== compares, = assigns."
	}
	p.report(t, fmt.Sprintf("expected %s, found %s", what, t.found()), hint)
	panic(bailout{})
}

// parseText reads a text and adds it to the program.
func (p *parser) parseText(s Source) {
	if !p.checkSize(token{pos: Pos{s.Name, 1, 1}}, s) {
		return
	}
	p.pre = &preprocessor{lex: newLexer(s.Name, s.Text), macros: map[string]*cmacro{}, once: map[string]bool{}, parser: p}
	for name, value := range p.options.Defines {
		p.pre.define(token{}, newLexer("", name+" "+value))
	}
	for _, path := range slices.Backward(p.options.Includes) { // what is entered last is read first
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

// checkSize records an error at t if a text is too long.
func (p *parser) checkSize(t token, s Source) bool {
	if len(s.Text) > maxText {
		p.report(t, fmt.Sprintf("a program has at most %d bytes, this one %d", maxText, len(s.Text)), "")
	}
	return len(s.Text) <= maxText
}

// top reads what begins at the top of a program. It returns false at the end.
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

// skipTop goes on after an error: behind the next block, or a semicolon before it.
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

// load reads what is imported, or included in quotes.
func (p *parser) load(at token, path string) (Source, bool) {
	if p.options.Import == nil {
		p.report(at, "this program can't read other files", "")
		return Source{}, false
	}
	if len(p.program.Sources) >= maxSources {
		p.abort(at, "the program reads more than %d files", maxSources)
	}
	name, text, err := p.options.Import(at.pos.File, path)
	if err != nil {
		p.report(at, fmt.Sprintf("can't read %q: %v", path, err), "")
		return Source{}, false
	}
	return p.source(at, name, text)
}

// source makes a text that was read known to messages.
func (p *parser) source(at token, name, text string) (Source, bool) {
	s := Source{name, text}
	if !slices.ContainsFunc(p.program.Sources, func(other Source) bool { return other.Name == name }) {
		p.program.Sources = append(p.program.Sources, s)
	}
	return s, p.checkSize(at, s)
}

// importText reads import "x.bt"; at the place where it stands.
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
	if !ok || p.shared.imported[s.Name] {
		return
	}
	p.shared.imported[s.Name] = true
	sub := &parser{options: p.options, program: p.program, shared: p.shared, imported: true, header: strings.HasSuffix(path, ".h")}
	sub.parseText(s)
}
