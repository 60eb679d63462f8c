package kprobe

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/cexpr"
)

// maxArgs is the kernel's MAX_TRACE_ARGS (kernel/trace/trace_probe.h).
const maxArgs = 128

// fetchBegins are characters that start an argument but never a function: the kernel's fetch
// syntax, and the start of a C expression.
const fetchBegins = `%$@+-\(&`

// indexed matches an element of an array. As a pattern of functions it would match only one
// name, which nobody would write that way.
var indexed = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*\[[0-9]+\]`)

// typed matches a parameter with a type, which cannot be a function of a module.
var typed = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*:(?:[usx](?:8|16|32|64)|char|string|ustring|symbol|symstr|b[0-9]+@[0-9]+/[0-9]+)(?:\[[0-9]+\])?$`)

// isFetchWord reports whether the second word of a definition is an argument, so that the first
// one is the function. perf-tools' kprobe tests for =, % or $; other words that can only be
// arguments count, too. The bare name of a parameter does not: it looks like a function after
// an alias, and Resolve checks whether such a function exists.
func isFetchWord(word string) bool {
	if word[0] == '"' {
		return false
	}
	return strings.ContainsAny(word, "=%$") || strings.IndexByte(fetchBegins, word[0]) >= 0 ||
		strings.Contains(word, "->") || indexed.MatchString(word) || typed.MatchString(word)
}

func (p *parser) args(d *Definition) error {
	p.blanks()
	d.Fetch = strings.TrimRight(p.text[p.pos:], " \t\n")
	for ; p.pos < len(p.text); p.blanks() {
		start := p.pos
		if len(d.Args) == maxArgs {
			return p.fail(start, "a probe can't have more than %d arguments", maxArgs)
		}
		p.argEnd()
		arg, err := p.arg(d, p.text[start:p.pos], start)
		if err != nil {
			return err
		}
		d.Args = append(d.Args, arg)
	}
	return p.checkNames(d)
}

// argEnd moves to the end of an argument: a space. In a C expression, spaces within parentheses
// do not count.
func (p *parser) argEnd() {
	start := p.pos
	for !p.done() {
		p.pos++
	}
	word := p.text[start:p.pos]
	if _, body := cutName(word); body == "" || strings.IndexByte(`%@+-\`, body[0]) >= 0 {
		return
	}
	open := 0
	for p.pos = start; p.pos < len(p.text); p.pos++ {
		switch c := p.text[p.pos]; {
		case c == '(':
			open++
		case c == ')':
			open--
		case open <= 0 && isBlank(c):
			return
		}
	}
}

// cutName splits NAME=BODY. Without a name, the whole word is the body.
func cutName(word string) (name, body string) {
	if name, body, ok := strings.Cut(word, "="); ok {
		return name, body
	}
	return "", word
}

func (p *parser) arg(d *Definition, word string, pos int) (Arg, error) {
	name, body := cutName(word)
	if !isPath(body) {
		fetch, err := p.fetch(word, pos, 0)
		if !strings.Contains(word, "=") {
			fetch.Name = "" // the parser numbered it without knowing the other words
		}
		return Arg{Fetch: fetch, Pos: pos}, err
	}
	arg := Arg{Path: body, Pos: pos}
	arg.Fetch.Name = name
	at := pos + len(word) - len(body) // of body
	if len(word) > len(body) {
		if _, err := p.fetch(name+"=$stack", pos, 0); err != nil {
			return arg, err
		}
	}
	if colon := strings.LastIndexByte(body, ':'); colon >= 0 {
		arg.Path, arg.Fetch.Type = body[:colon], body[colon+1:]
		if arg.Fetch.Type == "" {
			return arg, p.fail(at+len(body), "a type follows the colon: u8 … u64, s8 … s64, x8 … x64, string")
		}
		const valid = "a=+0($stack0):"
		if _, err := p.fetch(valid+arg.Fetch.Type, at+colon+1, len(valid)); err != nil {
			return arg, err
		}
	}
	return arg, p.checkPath(d, &arg, at)
}

// isPath reports whether an argument is an expression for Types, and not in the kernel's
// syntax.
func isPath(body string) bool {
	if body == "" {
		return false
	}
	if rest, ok := strings.CutPrefix(body, "$"); ok {
		end := strings.IndexFunc(rest, func(r rune) bool { return r > 0x7f || !isLetter(byte(r)) && !isDigit(byte(r)) })
		if end < 0 {
			return body == "$args"
		}
		return rest[end] != ':' && slices.Contains([]string{"retval", "arg"}, strings.TrimRight(rest[:end], "0123456789")) || strings.HasPrefix(body, "$args:")
	}
	return isLetter(body[0]) || strings.IndexByte("(&*", body[0]) >= 0
}

// checkPath returns an error if an expression is malformed or not possible in this probe.
func (p *parser) checkPath(d *Definition, arg *Arg, pos int) error {
	for i := range len(arg.Path) {
		if c := arg.Path[i]; !isLetter(c) && !isDigit(c) && strings.IndexByte(".->*&()[] \t$", c) < 0 {
			return p.fail(pos+i, "a parameter, its members and elements are a->b.c[1], without a %q", c)
		}
	}
	_, err := cexpr.Parser{Operand: operand}.Parse(arg.Path)
	wrong := (*cexpr.Error)(nil)
	switch {
	case arg.Path == "":
		return p.fail(pos, "There is nothing to fetch")
	case errors.As(err, &wrong):
		return p.fail(pos+wrong.Pos, "%v", wrong)
	case arg.Path == "$args":
		if arg.Fetch.Name != "" || arg.Fetch.Type != "" {
			return p.fail(pos, "$args is all parameters, each with its own name and type; give them one by one")
		}
	case d.Kind == Return && !strings.Contains(arg.Path, "$retval"):
		return p.fail(pos, "%s is a parameter, and those are gone when the function returns; $retval is what it returns", arg.Path)
	case d.Kind == Entry && strings.Contains(arg.Path, "$retval"):
		return p.fail(pos, "$retval exists only when the function returns: use a return probe (r:)")
	}
	if d.Kind == Entry && (d.Offset > 0 || d.Symbol == "") {
		return p.fail(pos, "where %s is is known at a function's first instruction only; name a register instead", arg.Path)
	}
	return nil
}

// fetch parses one argument in the kernel's syntax. The byte skip of word is at pos in the
// definition.
func (p *parser) fetch(word string, pos, skip int) (ftrace.FetchArg, error) {
	args, err := ftrace.ParseKernelArgs(word)
	if syntax := (*ftrace.SyntaxError)(nil); errors.As(err, &syntax) {
		return ftrace.FetchArg{}, p.fail(min(pos+max(syntax.Pos-skip, 0), len(p.text)), "%s", syntax.Message)
	}
	if err != nil || len(args) != 1 {
		return ftrace.FetchArg{}, p.fail(pos, "%q is no fetch argument", word)
	}
	return args[0], nil
}

// checkNames returns an error if two arguments have the same name. Arguments without a name are
// named by their number.
func (p *parser) checkNames(d *Definition) error {
	for i := range d.Args {
		for j := range i {
			if a, b := &d.Args[i], &d.Args[j]; a.Fetch.Name != "" && a.Fetch.Name == b.Fetch.Name {
				return p.fail(a.Pos, "there is an argument %s already", a.Fetch.Name)
			}
		}
	}
	return nil
}
