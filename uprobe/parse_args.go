package uprobe

import (
	"cmp"
	"errors"
	"regexp"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
)

// paramArg matches an argument that names a parameter of the function. No fetch argument of the
// kernel starts with a letter.
var paramArg = regexp.MustCompile(`^(?:([A-Za-z_][A-Za-z0-9_]*)=)?(\$args|[\p{L}_][\p{L}\p{N}_]*)(?::(.*))?$`)

// pathArg matches a path of members from a variable, with an optional name and type. No fetch
// argument of the kernel starts with a letter.
var pathArg = regexp.MustCompile(`^(?:([A-Za-z_][A-Za-z0-9_]*)=)?([*(]*[\p{L}_][^:=]*)(?::(.*))?$`)

func (p *parser) args(d *Definition) error {
	p.blanks()
	d.Fetch = strings.TrimRight(p.text[p.pos:], " \t\n")
	for ; p.pos < len(p.text); p.blanks() {
		start := p.pos
		for !p.done() {
			p.pos++
		}
		arg, err := p.arg(d, p.text[start:p.pos], start)
		if err != nil {
			return err
		}
		d.Args = append(d.Args, arg)
	}
	return nil
}

func (p *parser) arg(d *Definition, word string, pos int) (Arg, error) {
	arg := Arg{Pos: pos}
	m := paramArg.FindStringSubmatch(word)
	if m == nil {
		if m = pathArg.FindStringSubmatch(word); m != nil {
			arg.Path, m[2] = m[2], ""
		}
	}
	if m == nil {
		fetch, err := p.fetch(word, pos, 0)
		arg.Fetch = fetch
		if name, _, ok := strings.Cut(word, "="); !ok || name != fetch.Name {
			arg.Fetch.Name = "" // the parser numbered it without knowing the other words
		}
		return arg, err
	}
	arg.Param, arg.Fetch.Name, arg.Fetch.Type = m[2], m[1], m[3]
	if arg.Param == "$args" && (arg.Fetch.Name != "" || arg.Fetch.Type != "") {
		return arg, p.fail(pos, "$args is all parameters, each with its own name and type; give them one by one")
	}
	if strings.HasSuffix(word, ":") {
		return arg, p.fail(pos+len(word), "a type follows the colon: u8 … u64, s8 … s64, x8 … x64, string")
	}
	if arg.Fetch.Type != "" {
		const valid = "a=+0($stack0):"
		if _, err := p.fetch(valid+arg.Fetch.Type, pos+len(word)-len(arg.Fetch.Type), len(valid)); err != nil {
			return arg, err
		}
	}
	switch {
	case d.Kind == Return:
		return arg, p.fail(pos, "%s is a parameter, and those are gone when the function returns; $retval is what it returns", cmp.Or(arg.Param, arg.Path))
	case arg.Param == "$args" && d.Kind == Entry && (d.Place != PlaceFunction || d.Offset > 0):
		return arg, p.fail(pos, "$args is all parameters, and where those are is known at a function's first instruction only; name variables one by one")
	}
	return arg, nil
}

// fetch parses one argument in the kernel's syntax. The byte skip of word is at pos in the
// definition.
func (p *parser) fetch(word string, pos, skip int) (ftrace.FetchArg, error) {
	args, err := ftrace.ParseFetchArgs(word)
	if syntax := (*ftrace.SyntaxError)(nil); errors.As(err, &syntax) {
		return ftrace.FetchArg{}, p.fail(pos+min(max(syntax.Pos-skip, 0), len(p.text)-pos), "%s", syntax.Message)
	}
	if err != nil || len(args) != 1 {
		return ftrace.FetchArg{}, p.fail(pos, "%q is no fetch argument", word)
	}
	return args[0], nil
}
