package show

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// Map prints a map: all keys, or the last top ones if top is not 0. Numbers are divided by div if
// div is not 0.
func (p *Printer) Map(m *value.Map, top int, div uint64) {
	entries := m.Entries()
	if top > 0 && len(entries) > top {
		entries = entries[len(entries)-top:]
	}
	div = max(div, 1)
	if p.JSON {
		p.jsonMap(m, entries, div)
	} else {
		p.textMap(m, entries, div)
	}
	p.done()
}

// Element prints the value of one key. If the key does not exist, it prints zero.
func (p *Printer) Element(m *value.Map, k value.Key) {
	e, ok := m.Entry(k)
	switch {
	case !ok && m.Spec.Value.Kind.Aggregates():
		p.Value(types.Int64, value.Value{})
	case !ok:
		p.Value(m.Spec.Value, value.Value{})
	case p.JSON:
		p.buf = append(p.buf, `{"type": "value", "data": `...)
		p.jsonEntry(m, &e, 1)
		p.buf = append(p.buf, "}\n"...)
		p.done()
	default:
		p.textEntry(m, &e, 1)
		p.buf = append(p.buf, '\n')
		p.done()
	}
}

// drawn reports whether values of type t are printed as graphs of several lines.
func drawn(t *types.Type) bool {
	return t.Kind == types.Hist || t.Kind == types.LHist || t.Kind == types.TSeries
}

// textMap appends a map as text.
func (p *Printer) textMap(m *value.Map, entries []value.Entry, div uint64) {
	t := m.Spec.Value
	for i := range entries {
		e := &entries[i]
		p.buf = append(p.buf, m.Name...)
		p.key(m, e)
		p.buf = append(p.buf, ':')
		switch {
		case !drawn(t):
			p.buf = append(p.buf, ' ')
		case e.IsLate():
			p.buf = append(p.buf, " ~\n"...)
		case p.Dialect.Compact:
			p.buf = append(p.buf, '\n')
		default:
			p.buf = append(p.buf, " \n"...)
		}
		p.textEntry(m, e, div)
		stack := t.Kind == types.KStack || t.Kind == types.UStack
		if p.Dialect.Compact || !stack || i == len(entries)-1 {
			p.buf = append(p.buf, '\n')
		}
		p.writeLong()
	}
	if !p.Dialect.Compact {
		switch {
		case len(entries) > 0:
		case p.Dialect.counted && len(m.Keys) == 0 && t.Kind == types.Count:
			p.emptyScalar(m)
		default:
			p.buf = append(p.buf, '\n')
		}
		if t.Kind == types.Avg || t.Kind == types.Stats {
			p.buf = append(p.buf, '\n')
		}
		return
	}
	if len(entries) == 0 && len(m.Keys) == 0 && !drawn(t) {
		p.emptyScalar(m)
	}
}

// writeLong writes the buffer if a large map has filled it.
func (p *Printer) writeLong() {
	if len(p.buf) >= bufferSize {
		p.write()
	}
}

// emptyScalar appends a map without keys and without a value, as its zero.
func (p *Printer) emptyScalar(m *value.Map) {
	p.buf = append(append(p.buf, m.Name...), ": "...)
	if m.Spec.Value.Kind == types.Stats {
		p.stats(0, 0, 1)
	} else {
		p.buf = p.text(p.buf, m.Spec.Value, zero(m.Spec.Value), 8)
	}
	p.buf = append(p.buf, '\n')
}

// zero returns the zero value of a type.
func zero(t *types.Type) value.Value {
	if t.Kind != types.Tuple && t.Kind != types.Record {
		return value.Value{}
	}
	elems := make([]value.Value, len(t.Fields))
	for i, f := range t.Fields {
		elems[i] = zero(f.Type)
	}
	return value.Tuple(elems...)
}

// key appends the key of an entry in brackets.
func (p *Printer) key(m *value.Map, e *value.Entry) {
	if len(m.Keys) == 0 {
		return
	}
	p.buf = append(p.buf, '[')
	if e.IsKeyLate() {
		p.buf = append(p.buf, '~')
	}
	p.buf = p.keyParts(p.buf, m, e, ", ")
	p.buf = append(p.buf, ']')
}

// keyParts appends the parts of a key. If the key is a single tuple, it omits the parentheses.
func (p *Printer) keyParts(b []byte, m *value.Map, e *value.Entry, separator string) []byte {
	for i, part := range e.Key() {
		if i > 0 {
			b = append(b, separator...)
		}
		start := len(b)
		b = p.keyPart(b, m.Keys[i], part)
		if tuple := m.Keys[i].Kind == types.Tuple; tuple && len(m.Keys) == 1 {
			b = slices.Delete(b[:len(b)-1], start, start+1)
		}
	}
	return b
}

// keyPart appends a part of a key. Pointers in keys are always hexadecimal.
func (p *Printer) keyPart(b []byte, t *types.Type, v value.Value) []byte {
	if t.Kind == types.Pointer {
		return appendHex(b, v.N)
	}
	return p.text(b, t, v, p.Dialect.keyIndent)
}

// textEntry appends the value of an entry.
func (p *Printer) textEntry(m *value.Map, e *value.Entry, div uint64) {
	t := m.Spec.Value
	if e.IsLate() && !drawn(t) {
		p.buf = append(p.buf, '~')
	}
	switch t.Kind {
	case types.Hist, types.LHist:
		p.buf = p.hist(p.buf, m, e, div)
	case types.TSeries:
		p.buf = p.drawSeries(p.buf, m, e)
	case types.Stats:
		count, sum := e.Stats()
		p.stats(count, sum, div)
	default:
		p.buf = p.text(p.buf, t, divide(t, e.Value(), div), 8)
	}
}

// stats appends the count, the average and the total of stats.
func (p *Printer) stats(count, sum, div uint64) {
	average := int64(0)
	if count > 0 {
		average = int64(sum) / int64(count)
	}
	numbers := [3]int64{int64(count), average, int64(sum)}
	names := [3]string{"count ", "average ", "total "}
	if p.Dialect.records {
		numbers[1] /= int64(div)
		names = [3]string{"{ .count = ", ".average = ", ".total = "}
	}
	for i, n := range numbers {
		if i > 0 {
			p.buf = append(p.buf, ", "...)
		}
		p.buf = append(p.buf, names[i]...)
		p.buf = strconv.AppendInt(p.buf, n, 10)
	}
	if p.Dialect.records {
		p.buf = append(p.buf, " }"...)
	}
}

// divide divides a numeric value by div.
func divide(t *types.Type, v value.Value, div uint64) value.Value {
	switch {
	case div == 1 || t.Kind != types.Int && !t.Kind.Aggregates():
	case t.Signed:
		v.N = uint64(v.Signed() / int64(div))
	default:
		v.N /= div
	}
	return v
}

// jsonMap appends a map as a JSON message. An empty map has no message.
func (p *Printer) jsonMap(m *value.Map, entries []value.Entry, div uint64) {
	if len(entries) == 0 {
		return
	}
	kind := "map"
	switch m.Spec.Value.Kind {
	case types.Hist, types.LHist:
		kind = "hist"
	case types.TSeries:
		kind = "tseries"
	case types.Avg, types.Stats:
		kind = "stats"
	}
	p.buf = append(append(append(p.buf, `{"type": "`...), kind...), `", "data": {`...)
	p.buf = append(quote(p.buf, []byte(m.Name)), ": "...)
	if len(m.Keys) > 0 {
		p.buf = append(p.buf, '{')
	}
	for i := range entries {
		if i > 0 {
			p.buf = append(p.buf, ", "...)
		}
		if len(m.Keys) > 0 {
			p.buf = append(p.jsonKey(p.buf, m, &entries[i]), ": "...)
		}
		p.jsonEntry(m, &entries[i], div)
		p.writeLong()
	}
	if len(m.Keys) > 0 {
		p.buf = append(p.buf, '}')
	}
	p.buf = append(p.buf, "}}\n"...)
}

// jsonKey appends a key as the name of a JSON member.
func (p *Printer) jsonKey(b []byte, m *value.Map, e *value.Entry) []byte {
	var text []byte
	if e.IsKeyLate() {
		text = append(text, '~')
	}
	text = p.keyParts(text, m, e, ",")
	if p.Dialect.Compact {
		text = bytes.ReplaceAll(text, []byte(" "), nil)
	}
	return quote(b, text)
}

// jsonEntry appends the value of an entry as JSON.
func (p *Printer) jsonEntry(m *value.Map, e *value.Entry, div uint64) {
	t := m.Spec.Value
	switch t.Kind {
	case types.Hist, types.LHist:
		p.buf = p.jsonHist(p.buf, m, e, div)
	case types.TSeries:
		p.buf = p.jsonSeries(p.buf, m, e)
	case types.Stats:
		p.jsonStats(e)
	default:
		v := divide(t, e.Value(), div)
		if e.IsLate() && v.T == nil {
			v = v.Late()
		}
		p.buf = p.json(p.buf, t, v)
	}
}

func (p *Printer) jsonStats(e *value.Entry) {
	count, sum := e.Stats()
	average := int64(0)
	if count > 0 {
		average = int64(sum) / int64(count)
	}
	p.buf = p.jsonInt(append(p.buf, `{"count": `...), int64(count))
	p.buf = p.jsonInt(append(p.buf, `, "average": `...), average)
	p.buf = p.jsonInt(append(p.buf, `, "total": `...), int64(sum))
	p.buf = append(p.buf, '}')
}
