package show

import (
	"strconv"

	"github.com/ringtap/ringtap/internal/bpftrace/types"
	"github.com/ringtap/ringtap/internal/bpftrace/value"
)

// append appends the converted value.
func (v *verb) append(p *Printer, b []byte, arg value.Value) []byte {
	start := len(b)
	if arg.IsLate() && v.name != "s" {
		b = append(b, late)
	}
	switch v.name {
	case "d", "i":
		b = v.signed(b, v.narrowSigned(arg.N))
	case "u":
		b = v.unsigned(b, v.narrow(arg.N), 10, "")
	case "o":
		b = v.unsigned(b, v.narrow(arg.N), 8, "0")
	case "x":
		b = v.unsigned(b, v.narrow(arg.N), 16, "0x")
	case "X":
		b = v.unsigned(b, v.narrow(arg.N), 16, "0X")
	case "c":
		b = p.character(b, v.of, byte(arg.N))
	case "p":
		b = v.pointer(p, b, arg.N)
	case "gr":
		b = v.cut(append(b, p.names.PageFlags(arg.N)...), start)
	case "r":
		if v.alternate {
			b = v.cut(appendLines(b, arg.S), start)
			break
		}
		b = v.cut(appendBuffer(b, arg.S, true, true), start)
	case "rx":
		b = v.cut(appendBuffer(b, arg.S, false, true), start)
	case "rh":
		if v.alternate {
			b = v.cut(appendHexLines(b, arg.S), start)
			break
		}
		b = v.cut(appendBuffer(b, arg.S, false, false), start)
	default:
		b = v.cut(v.text(p, b, arg), start)
	}
	return v.justify(b, start)
}

// text appends the value of a %s.
func (v *verb) text(p *Printer, b []byte, arg value.Value) []byte {
	switch v.of.Kind {
	case types.Pointer:
		if arg.IsLate() {
			b = append(b, late)
		}
		return appendHex(b, arg.N)
	case types.Stats:
		return p.number(b, v.of, arg.N)
	}
	if v.endsLine {
		return p.line(b, v.of, arg)
	}
	return p.text(b, v.of, arg, 8)
}

// cut cuts the text from start on to the precision.
func (v *verb) cut(b []byte, start int) []byte {
	if v.precision >= 0 && len(b)-start > v.precision {
		b = b[:start+v.precision]
	}
	return b
}

// justify pads the text from start on to the width.
func (v *verb) justify(b []byte, start int) []byte {
	missing := v.width - (len(b) - start)
	if missing <= 0 {
		return b
	}
	if v.left {
		return pad(b, missing)
	}
	return fill(b, start, missing, ' ')
}

// fill inserts n copies of c at start.
func fill(b []byte, start, n int, c byte) []byte {
	b = pad(b, n)
	copy(b[start+n:], b[start:])
	for i := range n {
		b[start+i] = c
	}
	return b
}

// bits returns the width of the C type that the length names.
func (v *verb) bits() int {
	switch v.length {
	case "hh":
		return 8
	case "h":
		return 16
	case "":
		return 32
	}
	return 64
}

func (v *verb) narrow(n uint64) uint64 {
	shift := 64 - v.bits()
	return n << shift >> shift
}

func (v *verb) narrowSigned(n uint64) int64 {
	shift := 64 - v.bits()
	return int64(n<<shift) >> shift
}

// signed appends a signed number as C's printf does.
func (v *verb) signed(b []byte, n int64) []byte {
	sign := ""
	size := uint64(n)
	switch {
	case n < 0:
		sign, size = "-", -size
	case v.plus:
		sign = "+"
	case v.space:
		sign = " "
	}
	return v.digits(b, sign, size, 10)
}

// unsigned appends an unsigned number, with a prefix if the format asks for it.
func (v *verb) unsigned(b []byte, n uint64, base int, prefix string) []byte {
	if !v.alternate || n == 0 {
		prefix = ""
	}
	return v.digits(b, prefix, n, base)
}

// digits appends a prefix and the digits of a number, with the zeros that the precision and width
// require.
func (v *verb) digits(b []byte, prefix string, n uint64, base int) []byte {
	b = append(b, prefix...)
	start := len(b)
	if n != 0 || v.precision != 0 {
		b = strconv.AppendUint(b, n, base)
	}
	if v.name == "X" {
		for i := start; i < len(b); i++ {
			if 'a' <= b[i] && b[i] <= 'f' {
				b[i] -= 'a' - 'A'
			}
		}
	}
	zeros := v.precision
	if v.zeros && !v.left && v.precision < 0 {
		zeros = v.width - len(prefix)
	}
	if missing := zeros - (len(b) - start); missing > 0 {
		b = fill(b, start, missing, '0')
	}
	return b
}

// pointer appends an address.
func (v *verb) pointer(p *Printer, b []byte, n uint64) []byte {
	if n == 0 {
		if p.Dialect.nilPointers {
			return append(b, "(nil)"...)
		}
		return append(b, '0')
	}
	return v.digits(b, "0x", n, 16)
}
