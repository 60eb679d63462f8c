package show

import (
	"strconv"

	"github.com/ringtap/ringtap/internal/script/types"
	"github.com/ringtap/ringtap/internal/script/value"
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
	if p.Dialect.Quoted && int64(float64(n)) != n {
		return append(strconv.AppendInt(append(b, '"'), n, 10), '"')
	}
	return strconv.AppendInt(b, n, 10)
}

func (p *Printer) jsonUint(b []byte, n uint64) []byte {
	if p.Dialect.Quoted && uint64(float64(n)) != n {
		return append(strconv.AppendUint(append(b, '"'), n, 10), '"')
	}
	return strconv.AppendUint(b, n, 10)
}

// quote appends a JSON string. Bytes that are no UTF-8 stay as they are, as in bpftrace.
func quote(b, s []byte) []byte {
	b = append(b, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ':
			b = append(b, `\u00`...)
			b = append(b, '0'+c>>4, "0123456789abcdef"[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
