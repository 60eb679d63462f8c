package show

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// A Format is a parsed printf format: text, conversion, text, …, text.
type Format struct {
	texts []string // one more than verbs
	verbs []verb
}

// A verb is a conversion of a format.
type verb struct {
	left, plus, space, alternate, zeros bool

	width     int
	precision int    // -1 if not given
	length    string // hh, h, l, ll, j, z, t
	name      string // d, s, rx, …
	of        *types.Type
	endsLine  bool // only a newline follows it
}

// maxWidth bounds the width and the precision of a conversion.
const maxWidth = 4096

// ParseFormat parses a format. call is the function that the format belongs to (printf, system,
// cat, …). args are the types of its arguments. Errors use bpftrace's words. A % that does not
// start a conversion is printed as it is.
func ParseFormat(call, text string, args []*types.Type) (*Format, error) {
	f := &Format{}
	var literal strings.Builder
	for i := 0; i < len(text); {
		if text[i] != '%' {
			literal.WriteByte(text[i])
			i++
			continue
		}
		v, n := parseVerb(text[i:])
		switch {
		case n == 0:
			literal.WriteByte('%')
			i++
			continue
		case v.name == "%":
			literal.WriteString(text[i : i+n])
		default:
			f.texts = append(f.texts, literal.String())
			f.verbs = append(f.verbs, v)
			literal.Reset()
		}
		i += n
	}
	f.texts = append(f.texts, literal.String())
	if last := len(f.verbs) - 1; last >= 0 {
		f.verbs[last].endsLine = f.texts[last+1] == "\n" && f.verbs[last].width == 0 && f.verbs[last].precision < 0
	}
	return f, f.check(call, args)
}

// Verb returns the letters of conversion i: d, s, rx.
func (f *Format) Verb(i int) string { return f.verbs[i].name }

// parseVerb parses the conversion at the start of text and returns its length, or 0 if there is
// none.
func parseVerb(text string) (verb, int) {
	v := verb{precision: -1}
	i := 1
	flags := map[byte]*bool{'-': &v.left, '+': &v.plus, ' ': &v.space, '#': &v.alternate, '0': &v.zeros}
	for i < len(text) && flags[text[i]] != nil {
		*flags[text[i]] = true
		i++
	}
	v.width, i = parseNumber(text, i)
	if i < len(text) && text[i] == '.' {
		v.precision, i = parseNumber(text, i+1)
	}
	start := i
	for i < len(text) && strings.IndexByte("hlLjzt", text[i]) >= 0 {
		i++
	}
	v.length = text[start:i]
	for _, name := range []string{"gr", "rh", "rx", "r"} {
		if strings.HasPrefix(text[i:], name) {
			v.name = name
			return v, i + len(name)
		}
	}
	if i < len(text) && strings.IndexByte("diouxXeEfFgGaAcspn%", text[i]) >= 0 {
		v.name = text[i : i+1]
		return v, i + 1
	}
	return v, 0
}

// parseNumber parses digits, or *, which counts as 0.
func parseNumber(text string, i int) (n, end int) {
	if i < len(text) && text[i] == '*' {
		return 0, i + 1
	}
	for i < len(text) && '0' <= text[i] && text[i] <= '9' {
		n = min(n*10+int(text[i]-'0'), maxWidth+1)
		i++
	}
	return n, i
}

// check compares the conversions with the types of the arguments, and stores the types.
func (f *Format) check(call string, args []*types.Type) error {
	if few := len(args) < len(f.verbs); few || len(args) > len(f.verbs) {
		word := "Too many"
		if few {
			word = "Not enough"
		}
		return fmt.Errorf("%s: %s arguments for format string (%d supplied, %d expected)", call, word, len(args), len(f.verbs))
	}
	for i := range f.verbs {
		v := &f.verbs[i]
		v.of = args[i]
		wanted := ""
		switch v.name {
		case "d", "i", "u", "o", "x", "X", "c", "p", "gr":
			if !integer(v.of) {
				wanted = "integer"
			}
		case "r", "rx", "rh":
			if v.of.Kind != types.Buffer {
				wanted = "buffer"
			}
		case "s":
		default:
			return fmt.Errorf("%s: Unknown format string token: %%%s%s", call, v.length, v.name)
		}
		if v.width > maxWidth || v.precision > maxWidth {
			return fmt.Errorf("%s: the width of %%%s is greater than %d", call, v.name, maxWidth)
		}
		if wanted == "" && v.of.Kind != types.None {
			continue
		}
		if wanted == "" {
			wanted = "string"
		}
		return fmt.Errorf("%s: %%%s%s specifier expects a value of type %s (%s supplied)", call, v.length, v.name, wanted, v.of.Kind.Name())
	}
	return nil
}

// integer reports whether values of type t can be printed as numbers.
func integer(t *types.Type) bool {
	switch t.Kind {
	case types.Int, types.Bool, types.Pointer, types.Count, types.Sum, types.Min, types.Max, types.Avg, types.Stats:
		return true
	}
	return false
}

// append appends the formatted arguments.
func (f *Format) append(p *Printer, b []byte, args []value.Value) []byte {
	for i := range f.verbs {
		b = appendPercents(b, f.texts[i], false)
		b = f.verbs[i].append(p, b, args[i])
	}
	return appendPercents(b, f.texts[len(f.verbs)], p.Dialect.rawPercents)
}

// appendPercents appends the text between conversions. It replaces %% by %, unless raw is set.
func appendPercents(b []byte, text string, raw bool) []byte {
	if raw || strings.IndexByte(text, '%') < 0 {
		return append(b, text...)
	}
	for i := 0; i < len(text); i++ {
		b = append(b, text[i])
		if text[i] == '%' {
			if v, n := parseVerb(text[i:]); n > 0 && v.name == "%" {
				i += n - 1
			}
		}
	}
	return b
}
