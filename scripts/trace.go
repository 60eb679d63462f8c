package scripts

import (
	"fmt"
	"regexp"
	"strings"
)

// traceClause makes the clause of trace for a probe of its command line:
// PLACE[(PARAMETERS)] [(CONDITION)] ["FORMAT"[, VALUE]...].
func traceClause(spec string, library func(string) string) (string, error) {
	end := strings.IndexAny(spec, " \t(")
	if end < 0 {
		end = len(spec)
	}
	point, err := parsePoint(spec[:end], library)
	if err != nil {
		return "", err
	}
	v := values{more: traceWord}
	rest := spec[end:]
	if strings.HasPrefix(rest, "(") {
		declared, after, ok := parenthesized(rest)
		if !ok {
			return "", fmt.Errorf("%q: the parenthesis of the parameters is not closed", spec)
		}
		if v.parameters, err = parseParameters(declared); err != nil {
			return "", err
		}
		rest = after
	}
	condition := "wanted()"
	if rest = strings.TrimSpace(rest); strings.HasPrefix(rest, "(") {
		inside, after, ok := parenthesized(rest)
		if !ok {
			return "", fmt.Errorf("%q: the parenthesis of the condition is not closed", spec)
		}
		condition += " && (" + v.in(point, inside) + ")"
		rest = strings.TrimSpace(after)
	}
	var message string
	if rest != "" {
		if message, err = v.message(point, rest); err != nil {
			return "", fmt.Errorf("%q: %w", spec, err)
		}
		message = "\tprintf(" + message + ");\n"
	}
	return fmt.Sprintf("%s\n/%s/\n{\n\tcolumns(%s);\n%s\tfinish(@lines);\n}\n", point.At(), condition, quoted(point.name), message), nil
}

// traceWord returns what the language has for a name of bcc's trace.
func traceWord(name string) (string, bool) {
	text, ok := map[string]string{
		"$uid": "uid", "$gid": "gid", "$pid": "tid", "$tgid": "pid", "$cpu": "cpu", "$task": "curtask",
	}[name]
	return text, ok
}

// in rewrites an expression unless the place is one of the language.
func (v *values) in(p *point, expr string) string {
	if p.inLanguage {
		return expr
	}
	return v.rewrite(expr)
}

var conversion = regexp.MustCompile(`%[-+ #0-9.]*(?:hh|h|ll|l)?[A-Za-z%]`)

// message makes the arguments of printf of a format in quotes and its values.
func (v *values) message(p *point, text string) (string, error) {
	list := split(text, ',')
	format := list[0]
	if len(format) < 2 || format[0] != '"' || format[len(format)-1] != '"' {
		return "", fmt.Errorf("the message %s is not in quotes", text)
	}
	if p.inLanguage {
		return text, nil
	}
	var of []byte // the letters of the conversions
	format = conversion.ReplaceAllStringFunc(format, func(c string) string {
		letter := c[len(c)-1]
		if letter != '%' {
			of = append(of, letter)
		}
		if letter == 'K' || letter == 'U' {
			return c[:len(c)-1] + "s"
		}
		return c
	})
	if len(of) != len(list)-1 {
		return "", fmt.Errorf("the message has %d conversions and %d values", len(of), len(list)-1)
	}
	list[0] = format
	for i, letter := range of {
		value := v.rewrite(list[i+1])
		switch letter {
		case 's':
			if value != "comm" && !strings.HasPrefix(value, "args.") && !strings.HasPrefix(value, "args->") {
				value = "str(" + value + ")"
			}
		case 'K':
			value = "ksym(" + value + ")"
		case 'U':
			value = "usym(" + value + ")"
		}
		list[i+1] = value
	}
	return strings.Join(list, ", "), nil
}
