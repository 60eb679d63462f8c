package printfmt

import (
	"fmt"
	"strings"

	"github.com/ringtap/ringtap/ftrace"
	"github.com/ringtap/ringtap/internal/text/cexpr"
)

// conversion is one % conversion of a format string (lib/vsprintf.c, format_decode).
type conversion struct {
	verb      byte // d (all integers), c, s, p
	width     int  // -1: none
	precision int  // -1: none
	left      bool // -
	plus      bool // +
	space     bool
	zero      bool // 0
	prefix    bool // #
	base      uint64
	upper     bool
	typ       cexpr.Type // of an integer
	extension string     // letters and digits after %p
}

// maxWidth limits widths and precisions: no line of the kernel's trace is longer than a page.
const maxWidth = 4096

// piece is a literal text, followed by one conversion unless verb is 0.
type piece struct {
	literal string
	conversion
	widthArg, precisionArg node // arguments for *
	arg                    node
	probeString            bool          // text that a probe fetched: quoted, and "(fault)" if it could not
	late                   *ftrace.Field // for a probeString: see ProbeTextLate; nil if the field does not exist
	syscallArg             bool          // omit 0x if the value is below 10
}

// splitFormat splits a format string into pieces. It does not set their arguments; for a * it
// leaves a placeholder node.
func splitFormat(format string) ([]piece, error) {
	var pieces []piece
	literal := ""
	for {
		before, after, found := strings.Cut(format, "%")
		literal += before
		if !found {
			break
		}
		if strings.HasPrefix(after, "%") {
			literal, format = literal+"%", after[1:]
			continue
		}
		p, n, err := parseConversion(after)
		if err != nil {
			return nil, err
		}
		p.literal = literal
		pieces = append(pieces, p)
		literal, format = "", after[n:]
	}
	if literal != "" {
		pieces = append(pieces, piece{literal: literal})
	}
	return pieces, nil
}

// parseConversion parses the conversion after a % and returns its length.
func parseConversion(s string) (p piece, n int, err error) {
	p.width, p.precision = -1, -1
	for ; n < len(s) && p.flag(s[n]); n++ {
	}
	p.width, p.widthArg, n = parseCount(s, n)
	if n < len(s) && s[n] == '.' {
		p.precision, p.precisionArg, n = parseCount(s, n+1)
		p.precision = max(p.precision, 0)
	}
	size := 4
	for ; n < len(s); n++ {
		switch s[n] {
		case 'h':
			size /= 2
			continue
		case 'l', 'L', 'z', 'Z', 't', 'q', 'j':
			size = 8
			continue
		}
		break
	}
	if n == len(s) {
		return p, 0, fmt.Errorf("the format ends within a conversion")
	}
	if !p.setVerb(s[n], size) {
		return p, 0, fmt.Errorf("the conversion %%%s is not known", s[:n+1])
	}
	n++
	if p.verb == 'p' {
		start := n
		for n < len(s) && (s[n]|0x20 >= 'a' && s[n]|0x20 <= 'z' || s[n] >= '0' && s[n] <= '9') {
			n++
		}
		p.extension = s[start:n]
	}
	return p, n, nil
}

func (c *conversion) flag(b byte) bool {
	switch b {
	case '-':
		c.left = true
	case '+':
		c.plus = true
	case ' ':
		c.space = true
	case '#':
		c.prefix = true
	case '0':
		c.zero = true
	default:
		return false
	}
	return true
}

// parseCount parses a width or precision: digits, or * for an argument.
func parseCount(s string, n int) (count int, arg node, end int) {
	if n < len(s) && s[n] == '*' {
		return -1, &unknownNode, n + 1
	}
	count = -1
	for ; n < len(s) && '0' <= s[n] && s[n] <= '9'; n++ {
		count = min(max(count, 0)*10+int(s[n]-'0'), maxWidth)
	}
	return count, nil, n
}

func (c *conversion) setVerb(b byte, size int) bool {
	c.verb, c.base, c.typ = 'd', 10, cexpr.Type{Size: max(size, 1)}
	switch b {
	case 'd', 'i':
		c.typ.Signed = true
	case 'u':
	case 'o':
		c.base = 8
	case 'x':
		c.base = 16
	case 'X':
		c.base, c.upper = 16, true
	case 'c', 's', 'p':
		c.verb = b
	default:
		return false
	}
	return true
}
