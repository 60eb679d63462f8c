package show

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
	"github.com/ringtap/ringtap/internal/text/escape"
)

// late precedes a value that was read later than its hit.
const late = '~'

// text appends a value as print() and printf's %s print it. indent applies to stack frames.
func (p *Printer) text(b []byte, t *types.Type, v value.Value, indent int) []byte {
	if v.IsLate() {
		b, v.T = append(b, late), nil
	}
	switch t.Kind {
	case types.Bool:
		return strconv.AppendBool(b, v.N != 0)
	case types.String:
		return p.appendString(b, t, v.S)
	case types.Buffer:
		return appendBuffer(b, v.S, true, true)
	case types.Pointer:
		if !p.Dialect.hexPointers {
			return strconv.AppendInt(b, v.Signed(), 10)
		}
		return appendHex(b, v.N)
	case types.Array:
		return p.array(b, t, v, indent)
	case types.Struct:
		return p.fields(b, t, v, indent)
	case types.Tuple:
		return p.tuple(b, t, v, indent)
	case types.Record:
		return p.record(b, t, v, indent)
	case types.KStack, types.UStack:
		return p.stack(b, t, v, indent)
	case types.Timestamp: // the program contains its format, which needs no escapes
		return append(b, p.name(t, v)...)
	case types.KSym, types.USym, types.Username, types.Inet, types.MAC, types.CgroupPath, types.ProbeName:
		return p.visible(b, p.name(t, v))
	case types.Stats:
		return strconv.AppendInt(b, v.Signed(), 10)
	}
	return p.number(b, t, v.N)
}

// number appends an integer, or the name of an enum value.
func (p *Printer) number(b []byte, t *types.Type, n uint64) []byte {
	if name, ok := p.enum(t, n); ok {
		return p.visible(b, name)
	}
	if t.Signed {
		return strconv.AppendInt(b, int64(n), 10)
	}
	return strconv.AppendUint(b, n, 10)
}

// enum returns the name of an enum value. ok is false if t is no enum or the dialect prints
// numbers.
func (p *Printer) enum(t *types.Type, n uint64) (string, bool) {
	if t.Kind != types.Int || t.Name == "" || !p.Dialect.enums {
		return "", false
	}
	return p.names.Enum(t.Name, n)
}

// name returns the text of a value that is printed by name.
func (p *Printer) name(t *types.Type, v value.Value) string {
	switch t.Kind {
	case types.KSym, types.USym:
		return p.names.Symbol(v.N, t.Kind == types.USym)
	case types.Username:
		return p.names.User(v.N)
	case types.CgroupPath:
		return p.names.Cgroup(v.N)
	case types.Inet:
		addr, _ := netip.AddrFromSlice([]byte(v.S))
		return inet(addr)
	case types.MAC:
		return mac(v.S)
	case types.Timestamp:
		return string(strftime(nil, v.S, p.names.Wall(v.N), p.Dialect.subseconds))
	}
	return v.S
}

// inet formats an address as inet_ntop(3) does.
func inet(addr netip.Addr) string {
	if !addr.IsValid() {
		return ""
	}
	return addr.String()
}

// mac formats a hardware address.
func mac(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if i > 0 {
			b.WriteByte(':')
		}
		b.WriteByte("0123456789ABCDEF"[s[i]>>4])
		b.WriteByte("0123456789ABCDEF"[s[i]&15])
	}
	return b.String()
}

// line appends a value that only a newline follows. It keeps a newline at the end of the value, as
// bpftrace does. That only adds an empty line, so it cannot forge output.
func (p *Printer) line(b []byte, t *types.Type, v value.Value) []byte {
	text, ends := strings.CutSuffix(v.S, "\n")
	if t.Kind != types.String || !ends || t.Size > 0 && len(v.S) >= t.Size {
		return p.text(b, t, v, 8)
	}
	v.S = text
	return append(p.text(b, t, v, 8), '\n')
}

// appendString appends a string, and the dialect's trailer if the string was cut.
func (p *Printer) appendString(b []byte, t *types.Type, s string) []byte {
	if t.Program {
		b = append(b, s...)
	} else {
		b = p.visible(b, s)
	}
	if t.Size > 0 && len(s) >= t.Size && !t.Array {
		b = append(b, p.Dialect.Trailer...)
	}
	return b
}

// visible appends text that a traced process chose. It escapes whatever ends a line or moves the
// cursor, so that no process can forge a line of output. JSON has its own escapes (see quote).
func (p *Printer) visible(b []byte, s string) []byte {
	if p.Raw || p.JSON {
		return append(b, s...)
	}
	return append(b, escape.Text(s)...)
}

// character appends the character of %c.
func (p *Printer) character(b []byte, t *types.Type, c byte) []byte {
	if p.Raw || p.JSON || t.Program {
		return append(b, c)
	}
	return escape.Append(b, []byte{c})
}

func appendHex(b []byte, n uint64) []byte {
	return strconv.AppendUint(append(b, "0x"...), n, 16)
}

// appendBuffer appends the bytes of a buffer. If ascii is set, printable ASCII bytes become
// characters. If escaped is set, all other bytes become \x01, otherwise hexadecimal numbers
// separated by spaces.
func appendBuffer(b []byte, s string, ascii, escaped bool) []byte {
	const digits = "0123456789abcdef"
	for i := range len(s) {
		c := s[i]
		switch {
		case ascii && c >= ' ' && c <= '~':
			b = append(b, c)
		case escaped:
			b = append(b, '\\', 'x', digits[c>>4], digits[c&15])
		default:
			b = append(b, digits[c>>4], digits[c&15])
			if i < len(s)-1 {
				b = append(b, ' ')
			}
		}
	}
	return b
}

// stack appends a stack: a newline, then one line per frame. In the older dialects, a stack without
// frames prints nothing.
func (p *Printer) stack(b []byte, t *types.Type, v value.Value, indent int) []byte {
	frames := p.names.Stack(v.N, t.Kind == types.UStack, t.Mode)
	if len(frames) == 0 && !p.Dialect.Compact {
		return b
	}
	b = append(b, '\n')
	for _, frame := range frames {
		switch t.Mode {
		case "perf":
			b = append(b, '\t')
		case "raw", "build_id":
		default:
			b = pad(b, indent)
		}
		b = p.visible(b, frame)
		b = append(b, '\n')
	}
	return b
}

// pad appends n spaces.
func pad(b []byte, n int) []byte {
	for range n {
		b = append(b, ' ')
	}
	return b
}

func (p *Printer) array(b []byte, t *types.Type, v value.Value, indent int) []byte {
	b = append(b, '[')
	for i := range t.Len {
		if i > 0 {
			b = append(b, ',')
		}
		b = p.text(b, t.Elem, value.Load(t.Elem, at(v.S, i*t.Elem.Size)), indent)
	}
	return append(b, ']')
}

// at returns s from offset on.
func at(s string, offset int) string { return s[min(offset, len(s)):] }

func (p *Printer) fields(b []byte, t *types.Type, v value.Value, indent int) []byte {
	if len(t.Fields) == 0 {
		return append(b, "{}"...)
	}
	b = append(b, "{ "...)
	for i, f := range t.Fields {
		b = p.fieldName(b, i, f.Name)
		b = p.text(b, f.Type, value.LoadField(f, v.S), indent)
	}
	return append(b, " }"...)
}

func (p *Printer) record(b []byte, t *types.Type, v value.Value, indent int) []byte {
	b = append(b, "{ "...)
	for i, f := range t.Fields {
		b = p.fieldName(b, i, f.Name)
		b = p.text(b, f.Type, v.T[i], indent)
	}
	return append(b, " }"...)
}

// fieldName appends the name of a field, which may come from a traced program's debug information.
func (p *Printer) fieldName(b []byte, i int, name string) []byte {
	if i > 0 {
		b = append(b, ", "...)
	}
	b = p.visible(append(b, '.'), name)
	return append(b, " = "...)
}

func (p *Printer) tuple(b []byte, t *types.Type, v value.Value, indent int) []byte {
	b = append(b, '(')
	for i, f := range t.Fields {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = p.text(b, f.Type, v.T[i], indent)
	}
	return append(b, ')')
}

// appendLines appends the bytes of a buffer as text. It keeps newlines and tabs, and escapes
// everything else that moves the cursor.
func appendLines(b []byte, s string) []byte {
	for line := range strings.Lines(s) {
		text, end := strings.CutSuffix(line, "\n")
		if end {
			text = strings.TrimSuffix(text, "\r")
		}
		for i, part := range strings.Split(text, "\t") {
			if i > 0 {
				b = append(b, '\t')
			}
			b = escape.Append(b, []byte(part))
		}
		if end {
			b = append(b, '\n')
		}
	}
	return b
}

// appendHexLines appends the bytes of a buffer as hexadecimal digits, 16 bytes per line.
func appendHexLines(b []byte, s string) []byte {
	for i := range len(s) {
		if i > 0 && i%16 == 0 {
			b = append(b, '\n')
		}
		b = append(b, "0123456789abcdef"[s[i]>>4], "0123456789abcdef"[s[i]&15])
	}
	return b
}
