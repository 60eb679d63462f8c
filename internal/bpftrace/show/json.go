package show

import (
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// json appends a value as JSON.
func (p *Printer) json(b []byte, t *types.Type, v value.Value) []byte {
	if v.IsLate() {
		return quote(b, p.text(nil, t, v, 8))
	}
	switch t.Kind {
	case types.None:
		return append(b, "null"...)
	case types.Bool:
		return strconv.AppendBool(b, v.N != 0)
	case types.Array:
		b = append(b, '[')
		for i := range t.Len {
			b = comma(b, i)
			b = p.json(b, t.Elem, value.Load(t.Elem, at(v.S, i*t.Elem.Size)))
		}
		return append(b, ']')
	case types.Tuple:
		b = append(b, '[')
		for i, f := range t.Fields {
			b = comma(b, i)
			b = p.json(b, f.Type, v.T[i])
		}
		return append(b, ']')
	case types.Struct:
		b = append(b, '{')
		for i, f := range t.Fields {
			b = p.jsonName(b, i, f.Name)
			b = p.json(b, f.Type, value.LoadField(f, v.S))
		}
		return append(b, '}')
	case types.Record:
		b = append(b, '{')
		for i, f := range t.Fields {
			b = p.jsonName(b, i, f.Name)
			b = p.json(b, f.Type, v.T[i])
		}
		return append(b, '}')
	case types.Pointer:
		return p.jsonUint(b, v.N)
	case types.Int, types.Count, types.Sum, types.Min, types.Max, types.Avg, types.Stats:
		if t.Signed || t.Kind == types.Stats {
			return p.jsonInt(b, v.Signed())
		}
		return p.jsonUint(b, v.N)
	}
	return quote(b, p.text(nil, t, v, 8))
}

func comma(b []byte, i int) []byte {
	if i > 0 {
		b = append(b, ',')
	}
	return b
}

func (p *Printer) jsonName(b []byte, i int, name string) []byte {
	if i > 0 {
		b = append(b, ", "...)
	}
	return append(quote(b, []byte(name)), ": "...)
}

func (p *Printer) jsonInt(b []byte, n int64) []byte {
	if p.Dialect.quoted && int64(float64(n)) != n {
		return append(strconv.AppendInt(append(b, '"'), n, 10), '"')
	}
	return strconv.AppendInt(b, n, 10)
}

func (p *Printer) jsonUint(b []byte, n uint64) []byte {
	if p.Dialect.quoted && uint64(float64(n)) != n {
		return append(strconv.AppendUint(append(b, '"'), n, 10), '"')
	}
	return strconv.AppendUint(b, n, 10)
}

// quote appends a JSON string (RFC 8259, section 7). It escapes unprintable characters, so that
// text of a traced process cannot move a terminal's cursor. JSON cannot contain bytes that are not
// UTF-8, so such a byte becomes the four characters \xff, as in text.
func quote(b, s []byte) []byte {
	b = append(b, '"')
	for len(s) > 0 {
		if c := s[0]; ' ' <= c && c <= '~' && c != '"' && c != '\\' {
			b, s = append(b, c), s[1:]
			continue
		}
		r, n := utf8.DecodeRune(s)
		switch {
		case r == utf8.RuneError && n == 1:
			b = fmt.Appendf(b, `\\x%02x`, s[0])
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\t':
			b = append(b, `\t`...)
		case strconv.IsPrint(r):
			b = append(b, s[:n]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, high, low)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
		s = s[n:]
	}
	return append(b, '"')
}
