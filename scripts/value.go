package scripts

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/text/cexpr"
)

// parameter is one of a function's, as a command line declares it.
type parameter struct{ ctype, name string }

// parseParameters reads the parameters of a C function: "size_t size, char *name".
func parseParameters(text string) ([]parameter, error) {
	text = strings.TrimSpace(text)
	if text == "" || text == "void" {
		return nil, nil
	}
	var list []parameter
	for _, declared := range strings.Split(text, ",") {
		declared = strings.TrimSpace(declared)
		i := strings.LastIndexAny(declared, "* \t") + 1
		p := parameter{strings.TrimSpace(declared[:i]), declared[i:]}
		if p.ctype == "" || !word.MatchString(p.name) {
			return nil, fmt.Errorf("%q declares no parameter: write its type and its name", declared)
		}
		list = append(list, p)
	}
	return list, nil
}

var word = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// integer returns the language's name of an integer type of C, and whether it has a sign. It
// returns "" of other types.
func integer(ctype string) (name string, signed bool) {
	t, ok := cexpr.LookupInteger(strings.Fields(ctype))
	switch name = fmt.Sprintf("int%d", 8*t.Size); {
	case !ok || ctype == "void":
		return "", false
	case !t.Signed:
		name = "u" + name
	}
	return name, t.Signed
}

// isText reports whether a type of C is that of the address of a text.
func isText(ctype string) bool {
	ctype = strings.ReplaceAll(strings.Join(strings.Fields(ctype), " "), " *", "*")
	return ctype == "char*" || ctype == "const char*" || ctype == "char const*"
}

// cast makes an expression one of a type of C, if the language knows such types by name.
func cast(ctype, expr string) string {
	ctype = strings.TrimSpace(strings.TrimPrefix(strings.ReplaceAll(ctype, "__user", ""), "const "))
	if name, _ := integer(ctype); name != "" {
		if strings.HasPrefix(expr, "(("+name+")") {
			return expr
		}
		return "((" + name + ")" + expr + ")"
	}
	if strings.HasPrefix(ctype, "struct ") && strings.HasSuffix(ctype, "*") {
		return "((" + ctype + ")" + expr + ")"
	}
	return expr
}

// values rewrites values of bcc's tools as the language has them.
type values struct {
	parameters []parameter
	// more returns what stands for a word that begins with $.
	more func(name string) (string, bool)
}

var (
	compared = regexp.MustCompile(`\bSTRCMP\(\s*("(?:[^"\\]|\\.)*")\s*,\s*([^)]+)\)`)
	words    = regexp.MustCompile(`"(?:[^"\\]|\\.)*"?|(?:->|\.)\s*\w+|\$?[A-Za-z_]\w*(?:@user)?`)
	argument = regexp.MustCompile(`^arg([1-9])(@user)?$`)
)

// rewrite rewrites an expression.
func (v *values) rewrite(expr string) string {
	expr = compared.ReplaceAllString(expr, "(str($2) == $1)")
	return words.ReplaceAllStringFunc(expr, func(name string) string {
		if n := argument.FindStringSubmatch(name); n != nil {
			i, _ := strconv.Atoi(n[1]) // it is a digit
			if n[2] != "" {
				return fmt.Sprintf("uptr(arg%d)", i-1)
			}
			return fmt.Sprintf("arg%d", i-1)
		}
		for i, p := range v.parameters {
			if p.name == name {
				return cast(p.ctype, fmt.Sprintf("arg%d", i))
			}
		}
		if text, ok := v.more(name); ok {
			return text
		}
		return name
	})
}

// split cuts a list at its separators that are in no parentheses and no text.
func split(list string, separator byte) []string {
	var parts []string
	depth, from, inText := 0, 0, false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == separator && depth == 0:
			parts = append(parts, strings.TrimSpace(list[from:i]))
			from = i + 1
		}
	}
	return append(parts, strings.TrimSpace(list[from:]))
}

// parenthesized returns what is in the parentheses that a text begins with, and what follows.
func parenthesized(text string) (inside, rest string, ok bool) {
	depth, inText := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return text[1:i], text[i+1:], true
			}
		}
	}
	return "", "", false
}
